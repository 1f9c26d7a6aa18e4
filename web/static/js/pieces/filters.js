// The filters of a search. The address contains their values.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { moment, momentIn } from '../lib/format.js'
import { setQuery } from '../lib/router.js'
import { texts } from '../lib/texts.js'
import { useZone } from '../lib/zone.js'
import { Icon } from './icon.js'

const t = texts(
  { any: 'Any', clear: 'Clear filters', more: 'More filters', some: 'More filters ({n} set)', there: 'Times are in {zone}.', mine: 'Times are in your zone.' },
  { any: '不限', clear: '清除筛选', more: '更多筛选', some: '更多筛选（已设 {n} 项）', there: '时间为 {zone}。', mine: '时间为本地时区。' },
)

/** @typedef {{key: string, label: string, options?: {value: string, text: string}[], time?: boolean, rare?: boolean}} Filter */

/**
 * Filters asks for values and puts them into the address half a second after the last key. Rare filters are folded, unless the
 * address contains one of them.
 * @param {{of: Filter[], query: Record<string, string>, label: string}} props
 */
export function Filters({ of, query, label }) {
  const zone = useZone()
  const set = of.filter((f) => query[f.key])
  const rare = of.filter((f) => f.rare)
  const rareSet = set.filter((f) => f.rare).length
  const [open, setOpen] = useState(rareSet > 0)
  useEffect(() => {
    if (rareSet > 0) setOpen(true)
  }, [rareSet > 0])
  const clear = () => setQuery(Object.fromEntries([...of.map((f) => [f.key, '']), ['page', ''], ['after', '']]))
  const hint = of.some((f) => f.time) ? t(zone ? 'there' : 'mine', { zone }) : undefined
  const asked = (/** @type {Filter} */ f) => html`<div key=${f.key} class=${`filter-of${f.time ? ' time' : ''}`}><label for=${`filter-${f.key}`}>${f.label}</label>${f.options
    ? html`<select id=${`filter-${f.key}`} class="input" value=${query[f.key] ?? ''} onChange=${(/** @type {any} */ e) => change(f.key, e.target.value)}><option value="">${t('any')}</option>${f.options.map((o) => html`<option key=${o.value} value=${o.value}>${o.text}</option>`)}</select>`
    : f.time
      ? html`<input id=${`filter-${f.key}`} class="input" type="datetime-local" step="1" title=${hint} value=${asTyped(query[f.key], zone)} onChange=${(/** @type {any} */ e) => change(f.key, momentIn(e.target.value, zone))} />`
      : html`<${Typed} id=${`filter-${f.key}`} value=${query[f.key] ?? ''} onChange=${(/** @type {string} */ v) => change(f.key, v)} />`}</div>`
  return html`<form class="stack tight" role="search" aria-label=${label} onSubmit=${(/** @type {Event} */ e) => e.preventDefault()}>
    <div class="filters">${of.filter((f) => !f.rare).map(asked)}
      ${rare.length > 0 && html`<button type="button" class="button" aria-expanded=${open} aria-controls="filters-more" onClick=${() => setOpen(!open)}>${rareSet ? t('some', { n: rareSet }) : t('more')} <${Icon} name="down" size=${12} /></button>`}</div>
    ${rare.length > 0 && html`<div id="filters-more" class="filters" hidden=${!open}>${rare.map(asked)}</div>`}
    ${set.length > 0 && html`<div class="row"><button type="button" class="button small" onClick=${clear}>${t('clear')}</button>${set.some((f) => f.time) && html`<span class="small muted">${hint}</span>`}</div>`}
  </form>`
}

/** @param {string | undefined} at the value in the address @param {string} zone */
const asTyped = (at, zone) => (Number.isNaN(Date.parse(at ?? '')) ? '' : moment(at ?? '', zone).replace(' ', 'T'))

/** @param {string} key @param {string} value */
const change = (key, value) => setQuery({ [key]: value, page: '', after: '' })

/**
 * Typed is an input that calls onChange once the user has not typed for half a second.
 * @param {{id: string, value: string, onChange: (v: string) => void}} props
 */
function Typed({ id, value, onChange }) {
  const [typed, setTyped] = useState(value)
  const told = useRef(value)
  useEffect(() => {
    if (value !== told.current) {
      told.current = value
      setTyped(value)
    }
  }, [value])
  useEffect(() => {
    if (typed === told.current) return
    const timer = setTimeout(() => {
      told.current = typed.trim()
      onChange(typed.trim())
    }, 500)
    return () => clearTimeout(timer)
  }, [typed])
  return html`<input id=${id} class="input" value=${typed} spellcheck="false" autocomplete="off" onInput=${(/** @type {any} */ e) => setTyped(e.target.value)} />`
}
