// Dialogs for the user's own password, and for those that an admin sets.
import { html, useState } from '../lib/html.js'
import { call, loginNeeded, seg } from '../lib/api.js'
import { limits } from '../lib/limits.js'
import { texts } from '../lib/texts.js'
import { useBusy } from './act.js'
import { Ask } from './ask.js'
import { Dialog } from './dialog.js'
import { Icon } from './icon.js'
import { toast } from './toast.js'

const t = texts(
  {
    change: 'Change password', own: 'Your password', other: 'Password of {name}', current: 'Present password', next: 'New password', repeat: 'New password again', rule: '{n} characters at least.', ends: 'All logins of {name} end, this one too: log in again with the new one.', endsOther: 'All logins of {name} end.',
    differ: 'The two are not the same.', set: 'Set password', cancel: 'Cancel', done: 'The password of {name} is changed.',
  },
  {
    change: '修改密码', own: '修改自己的密码', other: '{name} 的密码', current: '当前密码', next: '新密码', repeat: '再次输入新密码', rule: '至少 {n} 个字符。', ends: '{name} 的所有登录都会结束（包括当前登录），请用新密码重新登录。', endsOther: '{name} 的所有登录都会结束。',
    differ: '两次输入不一致。', set: '设置密码', cancel: '取消', done: '{name} 的密码已修改。',
  },
)

/**
 * PasswordField asks for a password. An error replaces the help.
 * @param {{label: string, value: string, onChange: (v: string) => void, help?: string, error?: string, autocomplete: string, autofocus?: boolean}} props
 */
export const PasswordField = ({ label, value, onChange, help, error, autocomplete, autofocus }) => html`<${Ask} label=${label} help=${help} error=${error}>${(/** @type {any} */ a) => html`<input ...${a} type="password" autocomplete=${autocomplete} autofocus=${autofocus} required value=${value} onInput=${(/** @type {any} */ e) => onChange(e.target.value)} />`}</${Ask}>`

/**
 * SetPassword is a dialog that sets a password.
 * @param {{name: string, own?: boolean, onClose: () => void}} props
 */
export function SetPassword({ name, own, onClose }) {
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const [repeat, setRepeat] = useState('')
  const [errors, setErrors] = useState(/** @type {Record<string, string>} */ ({}))
  const [busy, run] = useBusy()
  const save = (/** @type {Event} */ e) => {
    e.preventDefault()
    if (password !== repeat) return setErrors({ repeat: t('differ') })
    void run(async () => {
      try {
        await call({ method: 'PUT', path: `/api/users/${seg(name)}/password`, body: own ? { password, current } : { password } })
        toast(t('done', { name }))
        onClose()
        if (own) loginNeeded.set(true)
      } catch (problem) {
        const failed = /** @type {import('../lib/api.js').ApiError} */ (problem)
        setErrors(failed.fields.length ? Object.fromEntries(failed.fields.map((f) => [f.field, f.message])) : { password: failed.message })
      }
    })
  }
  const known = (/** @type {string} */ key) => errors[key]
  const others = Object.entries(errors).filter(([k]) => !['current', 'password', 'repeat'].includes(k))
  return html`<${Dialog} title=${own ? t('own') : t('other', { name })} onClose=${onClose}>
    <form class="stack" onSubmit=${save}>
      <input class="hidden" type="text" autocomplete="username" aria-hidden="true" tabindex="-1" value=${name} readonly />
      ${own && html`<${PasswordField} label=${t('current')} value=${current} onChange=${setCurrent} error=${known('current')} autocomplete="current-password" autofocus />`}
      <${PasswordField} label=${t('next')} value=${password} onChange=${setPassword} error=${known('password')} help=${t('rule', { n: limits.password })} autocomplete="new-password" />
      <${PasswordField} label=${t('repeat')} value=${repeat} onChange=${setRepeat} error=${known('repeat')} autocomplete="new-password" />
      ${others.map(([k, v]) => html`<p class="error" role="alert"><code>${k}</code>: ${v}</p>`)}
      <p class="small muted">${t(own ? 'ends' : 'endsOther', { name })}</p>
      <div class="row" style=${{ justifyContent: 'flex-end' }}><button type="button" class="button" onClick=${onClose}>${t('cancel')}</button><button class="button main" disabled=${busy}>${busy && html`<span class="busy"></span>`}${t('set')}</button></div>
    </form>
  </${Dialog}>`
}

/**
 * OwnPassword is the entry of the navigation that changes the user's own password.
 * @param {{name: string}} props
 */
export function OwnPassword({ name }) {
  const [open, setOpen] = useState(false)
  return html`<button type="button" class="entry" title=${t('change')} onClick=${() => setOpen(true)}><${Icon} name="tokens" /><span class="word">${t('change')}</span></button>
    ${open && html`<${SetPassword} name=${name} own onClose=${() => setOpen(false)} />`}`
}
