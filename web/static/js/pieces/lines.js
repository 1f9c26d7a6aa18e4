// Many lines, of which only those near the window are drawn. The visible lines stay in place while lines are added above or below. If
// the end is visible, new lines scroll into view.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../lib/html.js'

/**
 * @template L
 * @typedef {{key: number | string, lines: L[]}} Lot a group of lines that is drawn as a whole
 */

const rowHeight = 18

/**
 * Lines shows lines, which are given in lots. `row` draws a line as an element whose data-id is the line's id; `deps` are the other
 * values on which the drawing depends.
 * @template L
 * @param {{lots: Lot<L>[], id: (line: L) => string, row: (line: L, n: number) => any, deps: unknown[], first: number | null, stick: boolean, label: string, aloud: boolean, wrap: boolean, find?: string | null, onStick: (stick: boolean) => void, onNear: (end: 'begin' | 'end') => void, above?: any, below?: any}} props
 */
export function Lines({ lots, id, row, deps, first, stick, label, aloud, wrap, find, onStick, onNear, above, below }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null))
  const [, again] = useState(0)
  const latest = useRef({ stick, onStick, onNear })
  latest.current = { stick, onStick, onNear }
  const known = useRef(/** @type {Map<number | string, {lot: Lot<L>, height: number}>} */ (new Map())) // the lots that were drawn
  const view = useRef({ top: 0, height: 800 })
  const anchor = useRef(/** @type {{id: string, top: number} | null} */ (null))
  const found = useRef(/** @type {string | null} */ (null))

  const heights = lots.map((lot) => {
    const k = known.current.get(lot.key)
    return k ? k.height + (lot.lines.length - k.lot.lines.length) * rowHeight : lot.lines.length * rowHeight
  })
  const total = heights.reduce((a, b) => a + b, 0)
  const wanted = find && found.current !== find ? lots.findIndex((lot) => lot.lines.some((l) => id(l) === find)) : -1
  let top = stick ? Math.max(0, total - view.current.height) : view.current.top
  if (wanted >= 0) top = heights.slice(0, wanted).reduce((a, b) => a + b, 0)
  const [begin, end, before] = range(heights, top - view.current.height, top + 2 * view.current.height)
  let n = first ?? 0
  for (let i = 0; i < begin; i++) n += lots[i].lines.length

  // Measures the drawn lots. Then it scrolls to the line to find, or to the end, or so that the first visible row stays in place.
  useLayoutEffect(() => {
    const el = /** @type {HTMLDivElement} */ (box.current)
    let changed = false
    for (const part of /** @type {NodeListOf<HTMLElement>} */ (el.querySelectorAll('.lot'))) {
      const lot = lots[Number(part.dataset.i)]
      const height = part.offsetHeight
      if (lot && known.current.get(lot.key)?.height !== height) changed = true
      if (lot) known.current.set(lot.key, { lot, height })
    }
    if (known.current.size > 4 * lots.length + 1000) known.current = new Map(lots.flatMap((l) => (known.current.has(l.key) ? [[l.key, /** @type {any} */ (known.current.get(l.key))]] : [])))
    if (find && wanted >= 0) {
      const line = rowOf(el, find)
      if (line) {
        found.current = find
        el.scrollTop = line.offsetTop - el.clientHeight / 3
        onStick(false)
      }
    } else if (stick) {
      el.scrollTop = el.scrollHeight
    } else if (anchor.current) {
      const line = rowOf(el, anchor.current.id)
      const to = line && line.offsetTop - anchor.current.top
      if (to !== null && Math.abs(to - el.scrollTop) > 1) el.scrollTop = to
    }
    view.current = { top: el.scrollTop, height: el.clientHeight }
    if (changed) again((x) => x + 1)
    else if (el.scrollTop < 2 * el.clientHeight && (!stick || el.scrollHeight < 2 * el.clientHeight)) onNear('begin')
    if (!changed && !stick && el.scrollTop + 3 * el.clientHeight > el.scrollHeight) onNear('end')
  })

  useEffect(() => {
    const el = /** @type {HTMLDivElement} */ (box.current)
    let frame = 0
    let width = el.clientWidth
    const update = () => {
      frame = 0
      const { stick, onStick, onNear } = latest.current
      const atEnd = el.scrollTop + el.clientHeight >= el.scrollHeight - 4
      view.current = { top: el.scrollTop, height: el.clientHeight }
      anchor.current = atTop(el)
      if (atEnd !== stick) onStick(atEnd)
      if (el.scrollTop < 2 * el.clientHeight) onNear('begin')
      if (el.scrollTop + 3 * el.clientHeight > el.scrollHeight) onNear('end')
      again((x) => x + 1)
    }
    const scrolled = () => {
      frame ||= requestAnimationFrame(update)
    }
    const resized = new ResizeObserver(() => {
      if (el.clientWidth !== width) known.current.clear()
      width = el.clientWidth
      again((x) => x + 1)
    })
    el.addEventListener('scroll', scrolled, { passive: true })
    resized.observe(el)
    return () => {
      el.removeEventListener('scroll', scrolled)
      resized.disconnect()
      cancelAnimationFrame(frame)
    }
  }, [])
  useEffect(() => {
    known.current.clear()
    again((x) => x + 1)
  }, [wrap])

  const shown = lots.slice(begin, end)
  let number = n
  return html`<div ref=${box} class=${`log-lines${wrap ? ' wrap' : ''}${first === null ? ' unnumbered' : ''}`} role="log" aria-live=${aloud ? 'polite' : 'off'} aria-label=${label} tabindex="0">
    ${above}
    <div style=${{ height: `${before}px` }}></div>
    ${shown.map((lot, i) => {
      const mine = number
      number += lot.lines.length
      return html`<${LotRows} key=${lot.key} lot=${lot} i=${begin + i} first=${first === null ? null : mine} row=${row} deps=${deps} />`
    })}
    <div style=${{ height: `${heights.slice(end).reduce((a, b) => a + b, 0)}px` }}></div>
    ${below}
  </div>`
}

/** @param {{lot: Lot<any>, i: number, first: number | null, row: (line: any, n: number) => any, deps: unknown[]}} props */
function LotRows({ lot, i, first, row, deps }) {
  const rows = useMemo(() => lot.lines.map((l, k) => row(l, first === null ? 0 : first + k)), [lot, first, ...deps])
  return html`<div class="lot" data-i=${i}>${rows}</div>`
}

/**
 * range returns which elements of a list of heights are between two positions, and the total height before them.
 * @param {number[]} heights @param {number} from @param {number} to
 */
function range(heights, from, to) {
  let begin = 0
  let before = 0
  while (begin < heights.length - 1 && before + heights[begin] < from) before += heights[begin++]
  let end = begin
  for (let at = before; end < heights.length && (at < to || end === begin); end++) at += heights[end]
  return [begin, end, before]
}

/** @param {HTMLElement} box @param {string} id */
const rowOf = (box, id) => /** @type {HTMLElement | null} */ (box.querySelector(`[data-id="${CSS.escape(id)}"]`))

/** atTop returns the first visible row, and its distance from the top of the window. @param {HTMLElement} box */
function atTop(box) {
  for (const lot of /** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll('.lot'))) {
    if (lot.offsetTop + lot.offsetHeight <= box.scrollTop) continue
    const rows = /** @type {HTMLCollectionOf<HTMLElement>} */ (lot.children)
    let low = 0
    let high = rows.length - 1
    while (low < high) {
      const mid = (low + high) >> 1
      if (rows[mid].offsetTop + rows[mid].offsetHeight <= box.scrollTop) low = mid + 1
      else high = mid
    }
    const line = rows[low]
    return line?.dataset.id ? { id: line.dataset.id, top: line.offsetTop - box.scrollTop } : null
  }
  return null
}
