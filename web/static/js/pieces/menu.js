// Menus and other content that opens at a button, and closes with Escape or a click elsewhere.
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from '../lib/html.js'
import { Icon } from './icon.js'

/** @typedef {{label: string, icon?: import('./icon.js').IconName, to?: string, run?: () => void, danger?: boolean}} Item */

/**
 * Popover is a button with content that opens at it. Its children are drawn only while it is open.
 * @param {{label: string, icon?: import('./icon.js').IconName, text?: any, small?: boolean, role?: string, children: (close: () => void) => any}} props
 */
export function Popover({ label, icon, text, small, role, children }) {
  const id = useId()
  const [open, setOpen] = useState(false)
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null))
  const box = useRef(/** @type {HTMLDivElement | null} */ (null))
  const parts = () => /** @type {HTMLElement[]} */ ([...(box.current?.querySelectorAll('a, button, input') ?? [])])
  useEffect(() => {
    const turned = (/** @type {any} */ e) => setOpen(e.newState === 'open')
    box.current?.addEventListener('toggle', turned)
    return () => box.current?.removeEventListener('toggle', turned)
  }, [])
  useLayoutEffect(() => {
    if (!open || !box.current || !button.current) return
    const at = button.current.getBoundingClientRect()
    const { style, offsetHeight, offsetWidth } = box.current
    const below = at.bottom + 4 + offsetHeight < innerHeight
    style.top = `${Math.max(4, below ? at.bottom + 4 : at.top - 4 - offsetHeight)}px`
    style.left = `${Math.max(4, Math.min(at.right, innerWidth - 4) - offsetWidth)}px`
    style.visibility = 'visible'
    parts()[0]?.focus()
    const away = () => box.current?.hidePopover()
    addEventListener('resize', away)
    document.addEventListener('scroll', away, { passive: true })
    return () => {
      removeEventListener('resize', away)
      document.removeEventListener('scroll', away)
      style.visibility = ''
    }
  }, [open])
  const step = (/** @type {KeyboardEvent} */ e) => {
    const way = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0
    if (!way) return
    e.preventDefault()
    const all = parts()
    const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement))
    all[(at + way + all.length) % all.length]?.focus()
  }
  return html`<button type="button" ref=${button} class=${`button${text ? '' : ' icon'}${small ? ' small' : ''}`} popovertarget=${id} aria-haspopup=${role === 'menu' ? 'menu' : 'true'} aria-label=${text ? undefined : label} title=${label}>${icon && html`<${Icon} name=${icon} />`}${text}</button>
    <div ref=${box} id=${id} popover="auto" class="menu" role=${role ?? 'group'} aria-label=${label} onKeyDown=${step}>${open && children(() => box.current?.hidePopover())}</div>`
}

/**
 * Menu is a button that opens a list of actions and links.
 * @param {{label: string, icon?: import('./icon.js').IconName, text?: any, small?: boolean, items: Item[]}} props
 */
export function Menu({ label, icon = 'more', text, small, items }) {
  return html`<${Popover} label=${label} icon=${icon} text=${text} small=${small} role="menu">${(/** @type {() => void} */ close) => items.map((item) => {
    const inside = html`${item.icon && html`<${Icon} name=${item.icon} />`}${item.label}`
    const done = () => {
      close()
      item.run?.()
    }
    return item.to
      ? html`<a key=${item.label} role="menuitem" href=${item.to} onClick=${close}>${inside}</a>`
      : html`<button key=${item.label} type="button" role="menuitem" class=${item.danger ? 'danger' : ''} onClick=${done}>${inside}</button>`
  })}</${Popover}>`
}
