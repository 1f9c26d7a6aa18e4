// Messages in a corner of the page about what was done or has failed, with a button to undo it where that is possible.
import { html } from '../lib/html.js'
import { signal, useSignal } from '../lib/signal.js'
import { texts } from '../lib/texts.js'
import { Icon } from './icon.js'

const t = texts({ undo: 'Undo', close: 'Close this message' }, { undo: '撤销', close: '关闭此消息' })

/** @typedef {{id: number, text: string, error: boolean, undo?: () => void, link?: {to: string, text: string}}} Toast */

const toasts = signal(/** @type {Toast[]} */ ([]))
let last = 0

/**
 * toast shows a message for 8 seconds, or an error until the user closes it.
 * @param {string} text
 * @param {{error?: boolean, undo?: () => void, link?: {to: string, text: string}}} [how]
 */
export function toast(text, { error = false, undo, link } = {}) {
  const id = ++last
  toasts.set([...toasts.get().slice(-4), { id, text, error, undo, link }])
  if (!error) setTimeout(() => drop(id), 8000)
}

/** @param {number} id */
const drop = (id) => toasts.set(toasts.get().filter((x) => x.id !== id))

/** Toasts draws the messages. The page contains it once. */
export function Toasts() {
  const all = useSignal(toasts)
  return html`<div class="toasts" role="status" aria-live="polite">
    ${all.map(
      (x) => html`<div key=${x.id} class=${`toast${x.error ? ' error' : ''}`}>
        <span class="grow">${x.text} ${x.link && html`<a href=${x.link.to}>${x.link.text}</a>`}</span>
        ${x.undo && html`<button class="link-button" onClick=${() => (drop(x.id), x.undo?.())}>${t('undo')}</button>`}
        <button class="button plain icon small" aria-label=${t('close')} onClick=${() => drop(x.id)}><${Icon} name="close" size=${12} /></button>
      </div>`,
    )}
  </div>`
}
