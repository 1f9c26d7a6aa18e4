// The heat strip. A column is an execution, the newest at the right; a cell is a shard. The colour shows the state, and the shade the
// duration relative to the job's median.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { duration, moment, number } from '../lib/format.js'
import { go } from '../lib/router.js'
import { texts } from '../lib/texts.js'
import { useZone } from '../lib/zone.js'
import { link } from '../routes.js'
import { lookOf, stateWord } from './state.js'
import { under, useTip } from './tip.js'

const t = texts(
  { shard: 'Shard {item}', attempt: 'attempt {n}', median: '{ratio} × the median', took: 'took {time}', waited: 'waited {time}', label: 'Executions and their shards, the newest last. Arrow keys move, Enter opens.', shards: 'Shards', state: 'State', duration: 'Duration', fired: 'Fired', table: 'As a table', quick: 'faster', slow: 'slower than the median' },
  { shard: '分片 {item}', attempt: '第 {n} 次尝试', median: '中位数的 {ratio} 倍', took: '耗时 {time}', waited: '等待 {time}', label: '各次执行及其分片，最新的在最后。方向键移动，Enter 打开。', shards: '分片', state: '状态', duration: '耗时', fired: '触发时间', table: '以表格显示', quick: '更快', slow: '慢于中位数' },
)

/** @typedef {{item: number, state: string, durationMillis: number | null, attempt: number, taskId: string | null}} Cell */
/** @typedef {{executionId: string, fireTime: string, source: string, state: string, durationMillis: number | null, waitMillis: number | null, shards: Cell[] | null, counts: Record<string, number>}} Column */

const maxCells = 40
const cell = 10
const step = cell + 2
const folded = 120 // the height of a column of shares, which replaces the cells of more than maxCells shards

/** stripHeight returns the height of a strip with its legend for a number of shards, so that its place can be reserved. */
export const stripHeight = (/** @type {number} */ shards) => (shards > maxCells ? folded : shards * step - 2) + 28 + 32

// The order of states in a column of shares, with the worst at the bottom.
const order = ['WAITING', 'ARMED', 'LAUNCHING', 'RUNNING', 'FINISHED', 'KILLED', 'LOST', 'TIMED_OUT', 'FAILED']

/**
 * shade returns the strength of a cell's colour, 1 to 3.
 * @param {number | null} took
 * @param {number | null} median
 */
export function shade(took, median) {
  if (took == null || !median) return 2
  return took < median * 0.75 ? 1 : took > median * 1.5 ? 3 : 2
}

/**
 * shares divides the height of a column among the states in proportion to their counts. Each part is large enough to be visible.
 * @param {Record<string, number>} counts
 * @param {number} height
 */
export function shares(counts, height) {
  const there = order.filter((s) => counts[s] > 0)
  const total = there.reduce((sum, s) => sum + counts[s], 0)
  const sizes = there.map((s) => Math.max(3, Math.round((height * counts[s]) / total)))
  if (sizes.length) sizes[sizes.indexOf(Math.max(...sizes))] += height - sizes.reduce((a, b) => a + b, 0)
  let y = 0
  return there.map((state, i) => ({ state, n: counts[state], y: (y += sizes[i]) - sizes[i], height: sizes[i] }))
}

/**
 * Strip draws executions, the oldest first.
 * @param {{executions: Column[], median: number | null, jobZone?: string}} props
 */
export function Strip({ executions: given, median, jobZone }) {
  const over = useRef(false)
  const held = useRef(given)
  // While the user points at the strip, columns do not move; they only change in place.
  const fresh = new Map(given.map((e) => [e.executionId, e]))
  held.current = over.current && held.current.length ? held.current.map((e) => fresh.get(e.executionId) ?? e) : given
  const executions = held.current
  const [at, setAt] = useState({ id: '', row: -1 })
  const [tip, show, hide] = useTip()
  const box = useRef(/** @type {HTMLDivElement | null} */ (null))
  const zone = useZone(jobZone)
  const fold = executions.some((e) => !e.shards || e.shards.length > maxCells)
  const rows = fold ? 0 : Math.max(1, ...executions.map((e) => e.shards?.length ?? 0))
  const height = fold ? folded : rows * step - 2
  const newest = executions.at(-1)?.executionId ?? ''
  useEffect(() => {
    if (box.current) box.current.scrollLeft = box.current.scrollWidth
  }, [newest])
  const present = executions.some((e) => e.executionId === at.id) ? at.id : newest

  const time = (/** @type {Column} */ e) => moment(e.fireTime, zone)
  const counts = (/** @type {Column} */ e) => Object.entries(e.counts ?? {}).map(([s, n]) => `${stateWord(s)} ${number(n)}`).join(', ')
  const says = (/** @type {Column} */ e) => [time(e), stateWord(e.state), e.durationMillis != null && t('took', { time: duration(e.durationMillis) }), e.waitMillis != null && e.waitMillis > 0 && t('waited', { time: duration(e.waitMillis) }), counts(e)].filter(Boolean)
  const saysCell = (/** @type {Cell} */ s) => [t('shard', { item: s.item }), stateWord(s.state), s.durationMillis != null && duration(s.durationMillis), s.durationMillis != null && median ? t('median', { ratio: number(Math.round((s.durationMillis / median) * 10) / 10) }) : '', s.attempt > 1 && t('attempt', { n: s.attempt })].filter(Boolean)
  const tell = (/** @type {Column} */ e, /** @type {Cell | undefined} */ s) => html`<b>${says(e)[0]}</b><div>${says(e).slice(1).join(' · ')}</div>${s && html`<div class="tip-part">${saysCell(s).join(' · ')}</div>`}`
  const open = (/** @type {Column} */ e, /** @type {number} */ row) => go(link.execution(e.executionId) + (row >= 0 && e.shards?.[row] ? `?shard=${e.shards[row].item}` : ''))

  const press = (/** @type {KeyboardEvent} */ k, /** @type {number} */ i) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-executions.length, 0], End: [executions.length, 0] }[k.key]
    if (!by || k.ctrlKey || k.metaKey || k.altKey) {
      if (k.key === 'Enter' && at.row >= 0) {
        k.preventDefault()
        open(executions[i], at.row)
      } else if (k.key === 'Escape') hide()
      return
    }
    k.preventDefault()
    const next = executions[Math.min(Math.max(i + by[0], 0), executions.length - 1)]
    const row = Math.min(Math.max((by[0] && at.row < 0 ? -1 : at.row) + by[1], -1), (fold ? 0 : (next.shards?.length ?? 0)) - 1)
    setAt({ id: next.executionId, row })
    const element = /** @type {HTMLElement | undefined} */ (box.current?.querySelectorAll('a')[executions.indexOf(next)])
    element?.focus()
    if (element) show(under(element), tell(next, row >= 0 ? next.shards?.[row] : undefined))
  }
  const rowOf = (/** @type {Event} */ e) => Number(/** @type {Element} */ (e.target).getAttribute('data-row') ?? -1)

  return html`<div class="strip" ref=${box} onPointerEnter=${() => (over.current = true)} onPointerLeave=${() => ((over.current = false), hide())}>
      <div class="strip-columns" role="group" aria-label=${t('label')} style=${{ minHeight: `${height + 20}px` }}>
        ${executions.map((e, i) => html`<a key=${e.executionId} href=${link.execution(e.executionId)} tabindex=${e.executionId === present ? 0 : -1} aria-label=${says(e).join(', ')}
            class=${`strip-column s-${lookOf(e.state)[0]}`}
            onClick=${(/** @type {MouseEvent} */ k) => rowOf(k) >= 0 && !k.metaKey && !k.ctrlKey && !k.shiftKey && (k.preventDefault(), open(e, rowOf(k)))}
            onPointerMove=${(/** @type {PointerEvent} */ k) => k.pointerType === 'mouse' && show(k, tell(e, rowOf(k) >= 0 ? e.shards?.[rowOf(k)] : undefined))}
            onFocus=${(/** @type {FocusEvent} */ f) => /** @type {Element} */ (f.target).matches(':focus-visible') && (setAt((a) => ({ id: e.executionId, row: a.id ? a.row : -1 })), show(under(/** @type {Element} */ (f.target)), tell(e, undefined)))} onBlur=${hide}
            onKeyDown=${(/** @type {KeyboardEvent} */ k) => press(k, i)}>
          <span class="strip-mark" aria-hidden="true">${lookOf(e.state)[1]}</span>
          <svg width=${cell} height=${height} aria-hidden="true" focusable="false">
            ${fold || !e.shards
              ? shares(e.counts ?? {}, height).map((s) => html`<rect key=${s.state} class=${`cell s-${lookOf(s.state)[0]}`} x="0" y=${s.y} width=${cell} height=${Math.max(1, s.height - 1)} rx="1"></rect>`)
              : e.shards.map((s, row) => html`<${Mark} key=${s.item} state=${s.state} shade=${s.state === 'FINISHED' ? shade(s.durationMillis, median) : 2} row=${row} at=${at.row === row && e.executionId === at.id} />`)}
          </svg>
        </a>`)}
      </div>
    </div>
    ${tip}
    <div class="row small muted spread"><span class="row">${median != null && !fold && html`<span class="s-finished legend" aria-hidden="true"><i class="shade-1"></i><i class="shade-2"></i><i class="shade-3"></i></span><span>${t('quick')} · ${t('slow')} (${duration(median)})</span>`}</span></div>
    <details class="small"><summary class="muted">${t('table')}</summary><${AsTable} executions=${executions} time=${time} counts=${counts} /></details>`
}

/** @param {{state: string, shade: number, row: number, at: boolean}} props */
function Mark({ state, shade: strength, row, at }) {
  const [style] = lookOf(state)
  const y = row * step
  const hollow = style === 'waiting' || style === 'armed' || style === 'off'
  return html`<g class=${`cell s-${style} shade-${strength}${hollow ? ' hollow' : ''}`}>
    <rect data-row=${row} x=${hollow ? 1 : 0} y=${hollow ? y + 1 : y} width=${hollow ? cell - 2 : cell} height=${hollow ? cell - 2 : cell} rx="2"></rect>
    ${signs[style] && html`<path d=${signs[style]} transform=${`translate(0 ${y})`}></path>`}
    ${at && html`<rect class="ring" x="0.5" y=${y + 0.5} width=${cell - 1} height=${cell - 1} rx="2"></rect>`}
  </g>`
}

// A cell of a shard that did not finish also has a sign, because colour alone must not carry a meaning.
/** @type {Record<string, string>} */
const signs = { failed: 'M3 3l4 4M7 3l-4 4', timedout: 'M3 2.5h4L3 7.500h4z', lost: 'M5 2.500v3M5 7.200v.3', killed: 'M3 5h4', running: 'M5 2v6' }

/** @param {{executions: Column[], time: (e: Column) => string, counts: (e: Column) => string}} props */
const AsTable = ({ executions, time, counts }) => html`<div class="strip-table"><table class="table" aria-label=${t('table')}>
  <thead><tr><th scope="col">${t('fired')}</th><th scope="col">${t('state')}</th><th scope="col" class="num">${t('duration')}</th><th scope="col">${t('shards')}</th></tr></thead>
  <tbody>${[...executions].reverse().map((e) => html`<tr key=${e.executionId}><td><a href=${link.execution(e.executionId)}>${time(e)}</a></td><td>${stateWord(e.state)}</td><td class="num">${duration(e.durationMillis)}</td><td>${counts(e)}</td></tr>`)}</tbody>
</table></div>`
