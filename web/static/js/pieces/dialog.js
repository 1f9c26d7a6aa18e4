import { html, useEffect, useId, useRef } from '../lib/html.js'
import { loginNeeded } from '../lib/api.js'
import { useSignal } from '../lib/signal.js'

/**
 * Dialog is a window over the page. The browser keeps the focus in it, and Escape closes it. It is open as long as it is drawn.
 * @param {{title: string, onClose: () => void, wide?: boolean, class?: string, children?: any, acts?: any}} props
 */
export function Dialog({ title, onClose, wide, class: extra = '', children, acts }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null))
  const id = useId()
  const login = useSignal(loginNeeded)
  useEffect(() => {
    if (login) return // the login, which covers the whole page, comes first
    const before = /** @type {HTMLElement | null} */ (document.activeElement)
    const dialog = ref.current
    dialog?.showModal()
    return () => {
      dialog?.close()
      before?.focus?.()
    }
  }, [login])
  const cancel = (/** @type {Event} */ e) => {
    e.preventDefault()
    onClose()
  }
  return html`<dialog ref=${ref} class=${`${wide ? 'wide ' : ''}${extra}`} aria-labelledby=${id} onCancel=${cancel} onMouseDown=${(/** @type {MouseEvent} */ e) => e.target === ref.current && onClose()}>
    <div class="dialog-body"><h2 id=${id}>${title}</h2>${children}</div>
    ${acts && html`<div class="dialog-acts">${acts}</div>`}
  </dialog>`
}
