// API tokens, with which programs log in.
import { within } from '../lib/base.js'
import { html, useState } from '../lib/html.js'
import { call, seg } from '../lib/api.js'
import { useResource } from '../lib/resource.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { ActButton, useBusy } from '../pieces/act.js'
import { Ask } from '../pieces/ask.js'
import { Copy, Curl } from '../pieces/curl.js'
import { Dialog } from '../pieces/dialog.js'
import { Grant, appsOf, appsText, errorsOf, roleName } from '../pieces/grant.js'
import { Empty, Loaded } from '../pieces/notice.js'
import { Table } from '../pieces/table.js'
import { Time } from '../pieces/time.js'
import { useNow } from '../lib/clock.js'

const t = texts(
  {
    title: 'API tokens', make: 'Create a token', name: 'Name', role: 'Role', apps: 'Apps', created: 'Created', by: 'By', expires: 'Expires', never: 'never', none: 'No tokens', noneHelp: 'A token gives a program access: CI, a script with curl, Prometheus. It has a role as a user has, and may expire.', noneFirst: 'There are no users either, so every user of this machine is an admin. From the first token on, a login or a token is required everywhere: create a user first, or you lock yourself out of the console.',
    nameHelp: 'What it is for, such as ci or prometheus.', until: 'Valid for', days: '{n} days', year: 'a year', forever: 'no expiry', cancel: 'Cancel', shown: 'Copy the token of {name} now: it is shown only once.', copy: 'Copy the token', use: 'With curl', close: 'I have copied it', remove: 'Remove', removeTitle: 'Remove the token {name}?', removeText: 'Programs that use it are refused from now on.', removed: 'The token {name} is removed.', expired: 'expired', same: 'The same with curl', token: 'Token',
  },
  {
    title: 'API 令牌', make: '创建令牌', name: '名称', role: '角色', apps: '应用', created: '创建时间', by: '创建者', expires: '过期时间', never: '永不', none: '没有令牌', noneHelp: '令牌供程序使用，例如 CI、使用 curl 的脚本、Prometheus。它和用户一样拥有角色，也可以设定过期时间。', noneFirst: '目前也没有用户，因此本机上的所有人都是管理员。创建第一个令牌后，任何访问都需要登录或令牌：请先创建用户，否则您将无法进入控制台。',
    nameHelp: '用途，例如 ci 或 prometheus。', until: '有效期', days: '{n} 天', year: '一年', forever: '永久', cancel: '取消', shown: '请立即复制 {name} 的令牌，它只显示这一次。', copy: '复制令牌', use: '在 curl 中使用', close: '已复制', remove: '移除', removeTitle: '移除令牌 {name}？', removeText: '使用它的程序将立即被拒绝。', removed: '令牌 {name} 已移除。', expired: '已过期', same: '用 curl 完成同样的操作', token: '令牌',
  },
)

/** @typedef {{name: string, role: string, apps?: string[], created: string, expires?: string, by?: string}} Token */

const lifetimes = [30, 90, 365, 0]

export default function Tokens() {
  const tokens = useResource('/api/tokens', { every: 30_000 })
  const users = useResource('/api/users')
  const [making, setMaking] = useState(false)
  const now = useNow()
  const make = html`<button type="button" class="button main" onClick=${() => setMaking(true)}>${t('make')}</button>`
  const acts = (/** @type {Token} */ x) => html`<${ActButton} small noCurl danger label=${t('remove')} requests=${[{ method: 'DELETE', path: `/api/tokens/${seg(x.name)}` }]} done=${t('removed', { name: x.name })} confirm=${{ title: t('removeTitle', { name: x.name }), text: t('removeText') }} then=${tokens.reload} />`
  return html`<${Page} title=${t('title')} main=${make}>
    <${Loaded} of=${tokens}>${(/** @type {Token[]} */ all) => all.length === 0
      ? html`<${Empty} title=${t('none')}><p>${t('noneHelp')}</p>${users.data?.length === 0 && html`<p>${t('noneFirst')}</p>`}${make}</${Empty}>`
      : html`<${Table} label=${t('title')} rows=${all} id=${(/** @type {Token} */ x) => x.name} acts=${acts} columns=${[
          { key: 'name', label: t('name'), cell: (/** @type {Token} */ x) => x.name },
          { key: 'role', label: t('role'), cell: (/** @type {Token} */ x) => roleName(x.role) },
          { key: 'apps', label: t('apps'), cell: (/** @type {Token} */ x) => appsText(x.apps) },
          { key: 'expires', label: t('expires'), cell: (/** @type {Token} */ x) => html`<${Time} at=${x.expires} none=${t('never')} />${x.expires && Date.parse(x.expires) < now ? html` <span class="state s-failed">${t('expired')}</span>` : ''}` },
          { key: 'by', label: t('by'), cell: (/** @type {Token} */ x) => x.by ?? '' },
          { key: 'created', label: t('created'), cell: (/** @type {Token} */ x) => html`<${Time} at=${x.created} />` },
        ]} />`}</${Loaded}>
    ${making && html`<${Make} alone=${users.data?.length === 0 && tokens.data?.length === 0} onClose=${() => setMaking(false)} onDone=${tokens.reload} />`}
  </${Page}>`
}

/** @param {{alone: boolean, onClose: () => void, onDone: () => void}} props */
function Make({ alone, onClose, onDone }) {
  const [name, setName] = useState('')
  const [role, setRole] = useState('operator')
  const [apps, setApps] = useState('')
  const [days, setDays] = useState(90)
  const [errors, setErrors] = useState(/** @type {Record<string, string>} */ ({}))
  const [made, setMade] = useState(/** @type {{name: string, token: string} | null} */ (null))
  const [busy, run] = useBusy()
  const request = { method: 'POST', path: '/api/tokens', body: { name: name.trim(), role, ...(role === 'metrics' ? {} : appsOf(apps)), ...(days ? { expires: new Date(Math.ceil(Date.now() / 1000) * 1000 + days * 86_400_000).toISOString().replace('.000', '') } : {}) } }
  const save = (/** @type {Event} */ e) => {
    e.preventDefault()
    void run(async () => {
      try {
        setMade(await call(request))
      } catch (problem) {
        setErrors(errorsOf(problem, ['name', 'role', 'apps', 'expires']))
      }
    })
  }
  const close = () => {
    onClose()
    if (made) onDone()
  }
  if (made) {
    return html`<${Dialog} title=${t('token')} wide onClose=${close} acts=${html`<button type="button" class="button main" onClick=${close}>${t('close')}</button>`}>
      <p role="status">${t('shown', { name: made.name })}</p>
      <div class="secret"><code>${made.token}</code><${Copy} text=${made.token} label=${t('copy')} /></div>
      <h3>${t('use')}</h3>
      <div class="curl"><pre tabindex="0">curl -H 'Authorization: Bearer ${made.token}' ${location.origin}${within('/api/job/jobs')}</pre><${Copy} text=${`curl -H 'Authorization: Bearer ${made.token}' ${location.origin}${within('/api/job/jobs')}`} /></div>
    </${Dialog}>`
  }
  return html`<${Dialog} title=${t('make')} onClose=${close}><form class="stack" onSubmit=${save}>
    ${alone && html`<p class="notice error">${t('noneFirst')}</p>`}
    <${Ask} label=${t('name')} help=${t('nameHelp')} error=${errors.name}>${(/** @type {any} */ a) => html`<input ...${a} autofocus required autocomplete="off" autocapitalize="none" spellcheck="false" value=${name} onInput=${(/** @type {any} */ e) => setName(e.target.value)} />`}</${Ask}>
    <${Grant} role=${role} apps=${apps} errors=${errors} onRole=${setRole} onApps=${setApps} />
    <${Ask} label=${t('until')} error=${errors.expires}>${(/** @type {any} */ a) => html`<select ...${a} value=${days} onChange=${(/** @type {any} */ e) => setDays(Number(e.target.value))}>${lifetimes.map((n) => html`<option key=${n} value=${n}>${n === 0 ? t('forever') : n === 365 ? t('year') : t('days', { n })}</option>`)}</select>`}</${Ask}>
    ${errors[''] && html`<p class="notice error" role="alert">${errors['']}</p>`}
    <details><summary class="small muted">${t('same')}</summary><${Curl} requests=${[request]} /></details>
    <div class="row" style=${{ justifyContent: 'flex-end' }}><button type="button" class="button" onClick=${close}>${t('cancel')}</button><button class="button main" disabled=${busy}>${busy && html`<span class="busy"></span>`}${t('make')}</button></div>
  </form></${Dialog}>`
}
