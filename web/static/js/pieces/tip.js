// Tips for the mark under the pointer or with the focus.
import { html, useState } from '../lib/html.js'

/** @typedef {{x: number, y: number, text: any}} Tip */

/**
 * useTip returns a tip to draw, and functions that set its place and text. Screen readers ignore the tip, so the mark's label must say
 * the same.
 * @returns {[drawn: any, show: (at: {clientX: number, clientY: number}, text: any) => void, hide: () => void]}
 */
export function useTip() {
  const [tip, setTip] = useState(/** @type {Tip | null} */ (null))
  const show = (/** @type {{clientX: number, clientY: number}} */ at, /** @type {any} */ text) => setTip({ x: at.clientX, y: at.clientY, text })
  const side = tip && tip.x > innerWidth / 2 ? { right: `${innerWidth - tip.x + 12}px` } : { left: `${(tip?.x ?? 0) + 12}px` }
  const height = tip && tip.y > innerHeight * 0.6 ? { bottom: `${innerHeight - tip.y + 12}px` } : { top: `${(tip?.y ?? 0) + 12}px` }
  return [tip && html`<div class="tip" aria-hidden="true" style=${{ ...side, ...height }}>${tip.text}</div>`, show, () => setTip(null)]
}

/**
 * under returns the place below an element, for the tip of the element with the focus.
 * @param {Element} element
 */
export function under(element) {
  const box = element.getBoundingClientRect()
  return { clientX: box.left, clientY: box.bottom }
}
