// Users and their permissions.
import { html, useState } from '../lib/html.js'
import { call, seg } from '../lib/api.js'
import { limits } from '../lib/limits.js'
import { useResource } from '../lib/resource.js'
import { session } from '../lib/session.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { Confirm, useBusy } from '../pieces/act.js'
import { Ask } from '../pieces/ask.js'
import { Curl } from '../pieces/curl.js'
import { Dialog } from '../pieces/dialog.js'
import { Grant, appsOf, appsText, errorsOf, roleName } from '../pieces/grant.js'
import { Empty, Loaded } from '../pieces/notice.js'
import { Menu } from '../pieces/menu.js'
import { PasswordField, SetPassword } from '../pieces/password.js'
import { Table } from '../pieces/table.js'
import { Time } from '../pieces/time.js'
import { toast } from '../pieces/toast.js'

const t = texts(
  {
    title: 'Users', acts: 'Actions for {name}', add: 'Add a user', addNamed: 'Add user', name: 'Name', role: 'Role', apps: 'Apps', created: 'Added', you: 'you', none: 'No users yet', noneHelp: 'Every user of this machine is an admin now. With the first user a login is required everywhere: in the console, for curl and for programs, which get tokens.', nameHelp: 'Letters, digits, ., _, @ and -. It can’t be changed later.', password: 'Password', passwordHelp: '{n} characters at least. The user can change it.',
    first: 'This is the first user, so it is an admin for all apps. From then on a login is required everywhere, here too: you will be asked for this name and password. Programs that use the API need a token.', change: 'Change role', changeOf: 'Role of {name}', save: 'Save', ends: 'All logins of {name} end.', setPassword: 'Set password', logout: 'End logins', logoutTitle: 'End all logins of {name}?', logoutText: '{name} has to log in again, everywhere.', loggedOut: 'The logins of {name} have ended.',
    remove: 'Remove', removeTitle: 'Remove {name}?', removeText: '{name} can’t log in any more, and all logins end at once. Tokens that {name} has created stay valid.', removed: '{name} is removed.', cancel: 'Cancel', done: '{name} may log in now.', changed: '{name} is {role} now, for {apps}.', same: 'The same with curl',
  },
  {
    title: '用户', acts: '对 {name} 的操作', add: '添加用户', addNamed: '添加用户', name: '名称', role: '角色', apps: '应用', created: '添加时间', you: '当前用户', none: '还没有用户', noneHelp: '目前本机上的所有人都是管理员。添加第一个用户后，控制台、curl 和程序都需要登录；程序使用令牌。', nameHelp: '字母、数字、.、_、@ 和 -，之后不能修改。', password: '密码', passwordHelp: '至少 {n} 个字符，用户可以自行修改。',
    first: '这是第一个用户，因此是所有应用的管理员。此后任何访问都需要登录，包括这里：系统会要求输入此名称和密码。使用 API 的程序需要令牌。', change: '修改角色', changeOf: '{name} 的角色', save: '保存', ends: '{name} 的所有登录都会结束。', setPassword: '设置密码', logout: '结束登录', logoutTitle: '结束 {name} 的所有登录？', logoutText: '{name} 需要重新登录。', loggedOut: '{name} 的登录已结束。',
    remove: '移除', removeTitle: '移除 {name}？', removeText: '{name} 不能再登录，所有登录立即结束。{name} 创建的令牌仍然有效。', removed: '{name} 已移除。', cancel: '取消', done: '{name} 现在可以登录。', changed: '{name} 现在是{role}，范围：{apps}。', same: '用 curl 完成同样的操作',
  },
)

/** @typedef {{name: string, role: string, apps?: string[], created?: string}} User */

export default function Users() {
  const users = useResource('/api/users', { every: 30_000 })
  const [open, setOpen] = useState(/** @type {{kind: 'add'} | {kind: 'change' | 'password', user: User} | {kind: 'sure', act: import('../pieces/act.js').Act} | null} */ (null))
  const me = session.get()
  const close = () => setOpen(null)
  const add = html`<button type="button" class="button main" onClick=${() => setOpen({ kind: 'add' })}>${t('add')}</button>`
  const acts = (/** @type {User} */ u) => html`<${Menu} small label=${t('acts', { name: u.name })} items=${[
    { label: t('change'), icon: 'edit', run: () => setOpen({ kind: 'change', user: u }) },
    { label: t('setPassword'), icon: 'tokens', run: () => setOpen({ kind: 'password', user: u }) },
    { label: t('logout'), icon: 'out', run: () => setOpen({ kind: 'sure', act: { label: t('logout'), requests: [{ method: 'DELETE', path: `/api/users/${seg(u.name)}/logins` }], done: t('loggedOut', { name: u.name }), confirm: { title: t('logoutTitle', { name: u.name }), text: t('logoutText', { name: u.name }) } } }) },
    { label: t('remove'), icon: 'trash', danger: true, run: () => setOpen({ kind: 'sure', act: { label: t('remove'), danger: true, requests: [{ method: 'DELETE', path: `/api/users/${seg(u.name)}` }], done: t('removed', { name: u.name }), confirm: { title: t('removeTitle', { name: u.name }), text: t('removeText', { name: u.name }), name: u.name }, then: users.reload } }) },
  ]} />`
  return html`<${Page} title=${t('title')} main=${add}>
    <${Loaded} of=${users}>${(/** @type {User[]} */ all) => html`
      ${all.length === 0
        ? html`<${Empty} title=${t('none')}><p>${t('noneHelp')}</p>${add}</${Empty}>`
        : html`<${Table} label=${t('title')} rows=${all} id=${(/** @type {User} */ u) => u.name} acts=${acts} columns=${[
            { key: 'name', label: t('name'), cell: (/** @type {User} */ u) => html`${u.name}${me?.kind === 'user' && me.name === u.name ? html` <span class="muted small">${t('you')}</span>` : ''}`, title: (/** @type {User} */ u) => u.name },
            { key: 'role', label: t('role'), cell: (/** @type {User} */ u) => roleName(u.role) },
            { key: 'apps', label: t('apps'), cell: (/** @type {User} */ u) => appsText(u.apps) },
            { key: 'created', label: t('created'), cell: (/** @type {User} */ u) => html`<${Time} at=${u.created} />` },
          ]} />`}
      ${open?.kind === 'add' && html`<${Edit} first=${all.length === 0} onClose=${close} onDone=${users.reload} />`}`}</${Loaded}>
    ${open?.kind === 'sure' && html`<${Confirm} act=${open.act} onClose=${close} />`}
    ${open?.kind === 'change' && html`<${Edit} user=${open.user} onClose=${close} onDone=${users.reload} />`}
    ${open?.kind === 'password' && html`<${SetPassword} name=${open.user.name} own=${me?.kind === 'user' && me.name === open.user.name} onClose=${close} />`}
  </${Page}>`
}

/**
 * Edit adds a user or changes a user's permissions.
 * @param {{user?: User, first?: boolean, onClose: () => void, onDone: () => void}} props
 */
function Edit({ user, first, onClose, onDone }) {
  const [name, setName] = useState(user?.name ?? '')
  const [password, setPassword] = useState('')
  const [role, setRole] = useState(user?.role ?? (first ? 'admin' : 'viewer'))
  const [apps, setApps] = useState(user?.apps?.join(', ') ?? '')
  const [errors, setErrors] = useState(/** @type {Record<string, string>} */ ({}))
  const [busy, run] = useBusy()
  const grant = { role, ...(role === 'metrics' ? {} : appsOf(apps)) }
  const request = user ? { method: 'PUT', path: `/api/users/${seg(user.name)}`, body: grant } : { method: 'POST', path: '/api/users', body: { name: name.trim(), password, ...grant } }
  const save = (/** @type {Event} */ e) => {
    e.preventDefault()
    void run(async () => {
      try {
        await call(request)
        toast(user ? t('changed', { name, role: roleName(role), apps: appsText(appsOf(apps).apps) }) : t('done', { name: name.trim() }))
        onClose()
        onDone()
      } catch (problem) {
        setErrors(errorsOf(problem, ['name', 'password', 'role', 'apps']))
      }
    })
  }
  return html`<${Dialog} title=${user ? t('changeOf', { name: user.name }) : t('add')} onClose=${onClose}><form class="stack" onSubmit=${save}>
    ${first && html`<p class="notice">${t('first')}</p>`}
    ${!user && html`<${Ask} label=${t('name')} help=${t('nameHelp')} error=${errors.name}>${(/** @type {any} */ a) => html`<input ...${a} autofocus required autocomplete="off" autocapitalize="none" spellcheck="false" value=${name} onInput=${(/** @type {any} */ e) => setName(e.target.value)} />`}</${Ask}>
      <${PasswordField} label=${t('password')} value=${password} onChange=${setPassword} help=${t('passwordHelp', { n: limits.password })} error=${errors.password} autocomplete="new-password" />`}
    ${!first && html`<${Grant} role=${role} apps=${apps} errors=${errors} onRole=${setRole} onApps=${setApps} />`}
    ${errors[''] && html`<p class="notice error" role="alert">${errors['']}</p>`}
    ${user && html`<p class="small muted">${t('ends', { name: user.name })}</p>`}
    <details><summary class="small muted">${t('same')}</summary><${Curl} requests=${[user ? request : { ...request, body: { .../** @type {object} */ (request.body), password: '…' } }]} /></details>
    <div class="row" style=${{ justifyContent: 'flex-end' }}><button type="button" class="button" onClick=${onClose}>${t('cancel')}</button><button class="button main" disabled=${busy}>${busy && html`<span class="busy"></span>`}${user ? t('save') : t('addNamed')}</button></div>
  </form></${Dialog}>`
}
