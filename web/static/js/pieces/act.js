// Actions. A safe action happens at once, and can be undone from the toast. Any other action first says what will happen.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { call } from '../lib/api.js'
import { texts } from '../lib/texts.js'
import { Curl } from './curl.js'
import { Dialog } from './dialog.js'
import { Icon } from './icon.js'
import { toast } from './toast.js'

const t = texts(
  { cancel: 'Cancel', typeName: 'Type {name} to go on', sameWithCurl: 'The same with curl', asCurl: 'Show the curl line', failed: '{what}: {why}' },
  { cancel: '取消', typeName: '输入 {name} 以继续', sameWithCurl: '用 curl 完成同样的操作', asCurl: '显示 curl 命令', failed: '{what}：{why}' },
)

/**
 * Act describes what a button does.
 * @typedef {object} Act
 * @property {string} label says what the action does: "Trigger now", not "OK"
 * @property {import('./icon.js').IconName} [icon]
 * @property {import('../lib/api.js').Request[]} requests the requests, which are sent one after the other
 * @property {string} [done] the message when the action is done
 * @property {import('../lib/api.js').Request[] | (() => Promise<import('../lib/api.js').Request[] | undefined>)} [undo] the requests that undo the action; a function is called before the action to find them
 * @property {{title: string, text: any, name?: string}} [confirm] says what will happen, for an action that cannot be undone; if it has a name, the user must type that
 * @property {boolean} [danger]
 * @property {boolean} [main]
 * @property {boolean} [small]
 * @property {boolean} [iconOnly] whether to show only the icon, with the label as its title
 * @property {boolean} [disabled]
 * @property {string} [title]
 * @property {boolean} [noCurl] whether to leave out the curl button, where many actions are side by side
 * @property {(answers: any[]) => void} [then] is called with the answers when the action is done
 */

/**
 * perform sends an action's requests and shows the result in a toast. It returns the answers, or null after an error.
 * @param {Pick<Act, 'label' | 'requests' | 'done' | 'undo' | 'then'>} act
 * @returns {Promise<any[] | null>}
 */
export async function perform(act) {
  /** @type {any[]} */
  const answers = []
  /** @type {import('../lib/api.js').Request[] | undefined} */
  let undo
  try {
    undo = typeof act.undo === 'function' ? await act.undo() : act.undo
    for (const request of act.requests) answers.push(await call(request))
  } catch (e) {
    const error = /** @type {import('../lib/api.js').ApiError} */ (e)
    const fields = error.fields?.map((f) => `${f.field}: ${f.message}`).join('; ')
    toast(t('failed', { what: act.label, why: fields || error.message }), { error: true })
    return null
  }
  if (act.done) toast(act.done, { undo: undo && (() => void perform({ label: act.label, requests: undo })) })
  act.then?.(answers)
  return answers
}

/**
 * useBusy runs one function at a time, and ignores others meanwhile. busy is set once a function has run for 150 ms.
 * @returns {[busy: boolean, run: (work: () => Promise<unknown>) => Promise<void>]}
 */
export function useBusy() {
  const [busy, setBusy] = useState(false)
  const running = useRef(false)
  const unmounted = useRef(false)
  useEffect(() => () => void (unmounted.current = true), [])
  const run = async (/** @type {() => Promise<unknown>} */ work) => {
    if (running.current) return
    running.current = true
    const timer = setTimeout(() => !unmounted.current && setBusy(true), 150)
    try {
      await work()
    } finally {
      clearTimeout(timer)
      running.current = false
      if (!unmounted.current) setBusy(false)
    }
  }
  return [busy, run]
}

/**
 * ActButton shows an action as a button, with its curl command beside it.
 * @param {Act} act
 */
export function ActButton(act) {
  const [busy, run] = useBusy()
  const [asking, setAsking] = useState(false)
  const [curl, setCurl] = useState(false)
  const start = () => (act.confirm ? setAsking(true) : run(() => perform(act)))
  const bare = act.iconOnly && act.icon
  const style = `button${bare ? ' icon' : ''}${act.main ? ' main' : ''}${act.danger ? ' danger' : ''}${act.small ? ' small' : ''}`
  return html`<span class="row" style=${{ gap: '2px', flexWrap: 'nowrap' }}>
    <button type="button" class=${style} disabled=${busy || act.disabled} title=${act.title ?? (bare ? act.label : undefined)} aria-label=${bare ? act.label : undefined} onClick=${start}>
      ${busy ? html`<span class="busy"></span>` : act.icon && html`<${Icon} name=${act.icon} />`}${bare ? '' : act.label}
    </button>
    ${!act.noCurl && html`<button type="button" class=${`button plain icon${act.small ? ' small' : ''}`} title=${t('asCurl')} aria-label=${`${t('asCurl')}: ${act.label}`} onClick=${() => setCurl(true)}><span class="mono" aria-hidden="true">$_</span></button>`}
    ${asking && html`<${Confirm} act=${act} onClose=${() => setAsking(false)} />`}
    ${curl && html`<${Dialog} title=${`${t('sameWithCurl')}: ${act.label}`} wide onClose=${() => setCurl(false)}><${Curl} requests=${act.requests} /></${Dialog}>`}
  </span>`
}

/**
 * Confirm says what will happen, and performs the action when the user confirms.
 * @param {{act: Act, onClose: () => void}} props
 */
export function Confirm({ act, onClose }) {
  const [busy, run] = useBusy()
  const [typed, setTyped] = useState('')
  const { confirm } = act
  if (!confirm) return null
  const ready = !confirm.name || typed === confirm.name
  const doIt = () =>
    run(async () => {
      if (await perform(act)) onClose()
    })
  return html`<${Dialog} title=${confirm.title} onClose=${onClose}
    acts=${html`<button type="button" class="button" onClick=${onClose}>${t('cancel')}</button>
      <button type="button" class=${`button ${act.danger ? 'danger' : 'main'}`} disabled=${busy || !ready} onClick=${doIt}>${busy && html`<span class="busy"></span>`}${act.label}</button>`}>
    <div>${confirm.text}</div>
    ${confirm.name && html`<label class="field"><span class="label">${t('typeName', { name: confirm.name })}</span><input class="input" value=${typed} autocomplete="off" spellcheck="false" onInput=${(/** @type {any} */ e) => setTyped(e.target.value)} /></label>`}
    <details><summary class="small muted">${t('sameWithCurl')}</summary><${Curl} requests=${act.requests} /></details>
  </${Dialog}>`
}
