// A table with sortable columns, selectable rows and the keys j, k, Enter and x. New rows wait while the user points at the table.
import { html, useEffect, useMemo, useRef, useState } from '../lib/html.js'
import { go } from '../lib/router.js'
import { texts } from '../lib/texts.js'

const t = texts(
  { selectAll: 'Select all on this page', select: 'Select {name}', fresh: '{n} new', sortBy: 'Sort by {name}', acts: 'Actions' },
  { selectAll: '选择本页全部', select: '选择 {name}', fresh: '{n} 条新记录', sortBy: '按 {name} 排序', acts: '操作' },
)

/**
 * @template R
 * @typedef {object} Column
 * @property {string} key
 * @property {string} label
 * @property {(row: R) => any} cell
 * @property {(row: R) => string | undefined} [title] returns the title of the cell; by default that is the cell's text, if it is a text
 * @property {boolean} [num]
 * @property {boolean} [sort] whether a click on the head sorts by the key
 */

/**
 * @template R
 * @typedef {object} TableProps
 * @property {string} label the name of the table for screen readers
 * @property {R[]} rows
 * @property {(row: R) => string} id
 * @property {Column<R>[]} columns
 * @property {(row: R) => string} [to] returns the address that Enter and a double click open
 * @property {{key: string, order: 'ASC' | 'DESC'}} [sorted]
 * @property {(key: string, order: 'ASC' | 'DESC') => void} [onSort]
 * @property {Set<string>} [selected]
 * @property {(selected: Set<string>) => void} [onSelect]
 * @property {(row: R) => any} [acts] returns the actions at the right of a row
 * @property {boolean} [gather] whether new rows wait behind "n new" while the user points at the table
 * @property {string} [question] identifies the request that the rows answer; rows of another request are shown at once
 */

/**
 * Table draws rows.
 * @template R
 * @param {TableProps<R>} props
 */
export function Table({ label, rows, id, columns, to, sorted, onSort, selected, onSelect, acts, gather, question = '' }) {
  const [at, setAt] = useState('')
  const [shown, fresh, catchUp, pointing] = useSteady(rows, id, gather ?? false, question)
  const box = useRef(/** @type {HTMLDivElement | null} */ (null))
  useTableKeys({ rows: shown, id, at, setAt, to, selected, onSelect, box })
  const toggle = (/** @type {string} */ key) => onSelect?.(toggled(selected ?? new Set(), key))
  const all = shown.length > 0 && shown.every((r) => selected?.has(id(r)))
  const head = (/** @type {Column<R>} */ c) => {
    if (!c.sort || !onSort) return c.label
    const now = sorted?.key === c.key ? sorted.order : undefined
    return html`<button type="button" title=${t('sortBy', { name: c.label })} onClick=${() => onSort(c.key, now === 'ASC' ? 'DESC' : 'ASC')}>${c.label}${now === 'ASC' ? ' ↑' : now === 'DESC' ? ' ↓' : ''}</button>`
  }
  return html`<div class="table-box" ref=${box} onPointerEnter=${() => pointing(true)} onPointerLeave=${() => pointing(false)}>
    ${fresh > 0 && html`<button type="button" class="new-rows" onClick=${catchUp}>${t('fresh', { n: fresh })}</button>`}
    <table class="table" aria-label=${label}>
      <thead><tr>
        ${onSelect && html`<th class="pick" scope="col"><input type="checkbox" aria-label=${t('selectAll')} checked=${all} onChange=${() => onSelect(all ? new Set() : new Set(shown.map(id)))} /></th>`}
        ${columns.map((c) => html`<th key=${c.key} scope="col" class=${c.num ? 'num' : ''} aria-sort=${sorted?.key === c.key ? (sorted.order === 'ASC' ? 'ascending' : 'descending') : undefined}>${head(c)}</th>`)}
        ${acts && html`<th class="row-acts" scope="col"><span class="hidden">${t('acts')}</span></th>`}
      </tr></thead>
      <tbody>
        ${shown.map((r) => {
          const key = id(r)
          const on = selected?.has(key) ?? false
          return html`<tr key=${key} class=${`${key === at ? 'at ' : ''}${on ? 'selected' : ''}`} aria-selected=${onSelect ? on : undefined} onDblClick=${() => to && go(to(r))}>
            ${onSelect && html`<td class="pick"><input type="checkbox" aria-label=${t('select', { name: key })} checked=${on} onChange=${() => toggle(key)} /></td>`}
            ${columns.map((c) => {
              const cell = c.cell(r)
              return html`<td key=${c.key} class=${c.num ? 'num' : ''} title=${c.title ? c.title(r) : typeof cell === 'string' ? cell : undefined}>${cell}</td>`
            })}
            ${acts && html`<td class="row-acts"><span class="row" style=${{ flexWrap: 'nowrap', justifyContent: 'end', gap: '4px' }}>${acts(r)}</span></td>`}
          </tr>`
        })}
      </tbody>
    </table>
  </div>`
}

/** @param {Set<string>} set @param {string} key */
function toggled(set, key) {
  const next = new Set(set)
  if (!next.delete(key)) next.add(key)
  return next
}

/**
 * useSteady holds back new rows while the user points at the table. Rows that are shown change in place.
 * @template R
 * @param {R[]} rows
 * @param {(row: R) => string} id
 * @param {boolean} gather
 * @param {string} [question]
 * @returns {[shown: R[], fresh: number, catchUp: () => void, pointing: (on: boolean) => void]}
 */
export function useSteady(rows, id, gather, question = '') {
  const over = useRef(false)
  const held = useRef(/** @type {string[]} */ ([]))
  const asked = useRef(question)
  if (asked.current !== question) {
    asked.current = question
    held.current = []
  }
  const [, again] = useState(0)
  const newest = useMemo(() => new Map(rows.map((r) => [id(r), r])), [rows])
  if (!gather || !over.current || held.current.length === 0) {
    held.current = rows.map(id)
    return [rows, 0, () => {}, (on) => void (over.current = on)]
  }
  const before = new Set(held.current)
  const shown = held.current.flatMap((key) => newest.get(key) ?? [])
  const fresh = rows.filter((r) => !before.has(id(r))).length
  const catchUp = () => {
    held.current = rows.map(id)
    again((n) => n + 1)
  }
  return [shown, fresh, catchUp, (on) => {
    over.current = on
    if (!on) catchUp()
  }]
}

/**
 * useTableKeys moves between rows with j and k, opens a row with Enter and selects it with x, unless the user is typing into a field.
 * @template R
 * @param {{rows: R[], id: (row: R) => string, at: string, setAt: (key: string) => void, to?: (row: R) => string, selected?: Set<string>, onSelect?: (s: Set<string>) => void, box: {current: HTMLElement | null}}} p
 */
function useTableKeys(p) {
  const latest = useRef(p)
  latest.current = p
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ e) => {
      const { rows, id, at, setAt, to, selected, onSelect, box } = latest.current
      if (e.ctrlKey || e.metaKey || e.altKey || !rows.length || document.querySelector('dialog[open]')) return
      const target = /** @type {HTMLElement} */ (e.target)
      if (target.closest('input:not([type=checkbox]), textarea, select, [contenteditable]')) return
      const first = document.querySelector('.table-box')
      if (first !== box.current && !box.current?.contains(target)) return // keys apply to the table with the focus, or else to the first one of the page
      const i = rows.findIndex((r) => id(r) === at)
      if (e.key === 'j' || e.key === 'k') {
        const next = rows[Math.min(Math.max(i + (e.key === 'j' ? 1 : -1), 0), rows.length - 1)]
        setAt(id(next))
        box.current?.querySelectorAll('tbody tr')[rows.indexOf(next)]?.scrollIntoView({ block: 'nearest' })
      } else if (e.key === 'Enter' && i >= 0 && to && !target.closest('a, button, input')) {
        go(to(rows[i]))
      } else if (e.key === 'x' && i >= 0 && onSelect) {
        onSelect(toggled(selected ?? new Set(), at))
      } else {
        return
      }
      e.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

/**
 * Pager shows links to the pages of a list.
 * @param {{page: number, perPage: number, total: number, atLeast?: boolean, onPage: (page: number) => void}} props
 */
export function Pager({ page, perPage, total, atLeast, onPage }) {
  const last = Math.max(1, Math.ceil(total / perPage))
  const from = total === 0 ? 0 : (page - 1) * perPage + 1
  return html`<nav class="pager" aria-label=${pagerText('pages')}>
    <span class="muted small">${pagerText('range', { from: from.toLocaleString(), to: Math.min(page * perPage, total).toLocaleString(), total: total.toLocaleString() + (atLeast ? '+' : '') })}</span>
    <button type="button" class="button small" disabled=${page <= 1} onClick=${() => onPage(page - 1)}>${pagerText('before')}</button>
    <button type="button" class="button small" disabled=${page >= last} onClick=${() => onPage(page + 1)}>${pagerText('next')}</button>
  </nav>`
}

const pagerText = texts(
  { pages: 'Pages of the list', range: '{from} to {to} of {total}', before: 'Previous', next: 'Next' },
  { pages: '列表分页', range: '第 {from} 至 {to} 条，共 {total} 条', before: '上一页', next: '下一页' },
)
