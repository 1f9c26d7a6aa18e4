// An execution over time. Each shard is a row, with bars for its attempts from the fire to the end.
import { html, useMemo, useRef, useState } from '../lib/html.js'
import { agents, useAgentNames } from '../lib/agents.js'
import { duration, moment } from '../lib/format.js'
import { ticks } from '../lib/spans.js'
import { texts } from '../lib/texts.js'
import { useZone } from '../lib/zone.js'
import { lookOf, stateWord } from './state.js'
import { useTip } from './tip.js'

const t = texts(
  {
    label: 'Time line: one row a shard', shards: '{n|shard|shards}', shard: 'Shard', wait: 'waited {time}', waitFor: 'waited {time} for: {reason}', start: 'started for {time}', run: 'ran {time}', attempt: 'attempt {n}', failover: 'failover', on: 'on {agent}', zoomIn: 'Zoom in', zoomOut: 'Zoom out', fit: 'All of it', help: 'Drag to zoom',
    waiting: 'Waiting', starting: 'Starting', now: 'now', since: 'since the fire',
  },
  {
    label: '时间线：每个分片一行', shards: '{n} 个分片', shard: '分片', wait: '等待 {time}', waitFor: '等待 {time}，原因：{reason}', start: '启动 {time}', run: '运行 {time}', attempt: '第 {n} 次尝试', failover: '失效转移', on: '位于 {agent}', zoomIn: '放大', zoomOut: '缩小', fit: '显示全部', help: '拖动以缩放',
    waiting: '等待', starting: '启动', now: '现在', since: '自触发起',
  },
)

/** @typedef {import('../lib/spans.js').Spans} Spans */
/** @typedef {import('../lib/spans.js').Bar} Bar */

const rowHeight = 24
const maxRows = 18 // more rows scroll

/**
 * Timeline draws spans. `zoom` is a period in milliseconds since the fire; null shows everything.
 * @param {{spans: Spans, zoom: [from: number, to: number] | null, onZoom: (zoom: [number, number] | null) => void, jobZone?: string, to: (item: number) => string}} props
 */
export function Timeline({ spans, zoom, onZoom, jobZone, to }) {
  const [top, setTop] = useState(0)
  const [drag, setDrag] = useState(/** @type {[number, number] | null} */ (null))
  const from = useRef(/** @type {{x: number, left: number, width: number} | null} */ (null))
  const [tip, show, hide] = useTip()
  const zone = useZone(jobZone)
  useAgentNames()
  const total = spans.to - spans.from
  const [a, b] = zoom ?? [0, total]
  const width = Math.max(b - a, 1)
  const at = (/** @type {number} */ x) => (100 * (x - a)) / width
  const marks = useMemo(() => ticks(a, b, 7), [a, b])
  const first = Math.max(0, Math.floor(top / rowHeight) - 4)
  const rows = spans.shards.slice(first, first + maxRows + 8)
  const scrolls = spans.shards.length > maxRows
  const states = [...new Set(spans.shards.flatMap((r) => r.bars.flatMap((bar) => (bar.kind === 'run' && bar.attempt ? bar.attempt.state : []))))]
  const fold = Math.min(maxRows, spans.shards.length) * rowHeight

  const zoomBy = (/** @type {number} */ factor) => {
    const middle = (a + b) / 2
    const half = (width * factor) / 2
    const next = /** @type {[number, number]} */ ([Math.max(0, Math.round(middle - half)), Math.min(total, Math.round(middle + half))])
    onZoom(next[1] - next[0] >= total ? null : next[1] - next[0] < 2 ? zoom : next)
  }
  const share = (/** @type {PointerEvent} */ e) => Math.min(1, Math.max(0, (e.clientX - (from.current?.left ?? 0)) / (from.current?.width ?? 1)))
  const down = (/** @type {PointerEvent} */ e) => {
    const target = /** @type {Element} */ (e.target)
    if (e.button !== 0 || e.pointerType !== 'mouse' || target.closest('a, button')) return
    const track = /** @type {Element} */ (e.currentTarget).querySelector('.line-scale')?.getBoundingClientRect()
    if (!track || e.clientX < track.left || e.clientX > track.right) return
    const figure = /** @type {Element} */ (e.currentTarget)
    figure.setPointerCapture(e.pointerId)
    from.current = { x: e.clientX, left: track.left, width: track.width }
    e.preventDefault()
  }
  const move = (/** @type {PointerEvent} */ e) => {
    if (!from.current || Math.abs(e.clientX - from.current.x) < 4) return
    const s = [(from.current.x - from.current.left) / from.current.width, share(e)].sort((x, y) => x - y)
    setDrag([s[0], s[1]])
    hide()
  }
  const up = () => {
    from.current = null
    setDrag(null)
    if (drag && (drag[1] - drag[0]) * width >= 2) onZoom([Math.round(a + drag[0] * width), Math.round(a + drag[1] * width)])
  }

  return html`<figure class="lines" aria-label=${t('label')} onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerCancel=${up} onPointerLeave=${hide}>
    <div class="row spread line-tools"><span class="row small muted">
        <span class="row tight"><i class="key bar-wait"></i>${t('waiting')}</span><span class="row tight"><i class="key bar-start"></i>${t('starting')}</span>
        ${states.map((s) => html`<span key=${s} class="row tight"><i class=${`key bar-run s-${lookOf(s)[0]}`}></i>${stateWord(s)}</span>`)}</span>
      <span class="row tight"><span class="small muted wide-only">${t('help')}</span>
        <button type="button" class="button icon small" aria-label=${t('zoomOut')} title=${t('zoomOut')} disabled=${!zoom} onClick=${() => zoomBy(2)}>−</button>
        <button type="button" class="button icon small" aria-label=${t('zoomIn')} title=${t('zoomIn')} onClick=${() => zoomBy(0.5)}>+</button>
        <button type="button" class="button small" disabled=${!zoom} onClick=${() => onZoom(null)}>${t('fit')}</button></span></div>
    <div class="line-box" tabindex=${scrolls ? 0 : undefined} role=${scrolls ? 'group' : undefined} aria-label=${scrolls ? t('label') : undefined} style=${{ height: `${fold + rowHeight}px` }} onScroll=${(/** @type {any} */ e) => setTop(e.target.scrollTop)}>
      <div class="line-head"><span class="small muted">${t('shards', { n: spans.shards.length })}</span><div class="line-scale" title=${t('since')}>
        ${marks.map((x, i) => at(x) >= 0 && at(x) <= 100 && html`<span key=${x} class=${`tick${i % 2 ? ' odd' : ''}${at(x) > 90 ? ' end' : ''}`} style=${{ left: `${at(x)}%` }}>${x === 0 ? moment(spans.from, zone).slice(11) : `+${duration(x)}`}</span>`)}
      </div></div>
      <div class="line-all" style=${{ height: `${spans.shards.length * rowHeight}px` }}>
        <div class="line-grid" aria-hidden="true">${marks.map((x) => at(x) >= 0 && at(x) <= 100 && html`<i key=${x} style=${{ left: `${at(x)}%` }}></i>`)}
          ${spans.running && at(total) >= 0 && at(total) <= 100 && html`<b title=${t('now')} style=${{ left: `${at(total)}%` }}></b>`}
          ${drag && html`<u style=${{ left: `${100 * drag[0]}%`, width: `${100 * (drag[1] - drag[0])}%` }}></u>`}</div>
        ${rows.map((r, i) => html`<div key=${r.item} class="line-row" style=${{ top: `${(first + i) * rowHeight}px` }}>
          <a class="line-name" href=${to(r.item)} title=${`${t('shard')} ${r.item}: ${stateWord(r.shard.state)}`}><span class=${`state bare s-${lookOf(r.shard.state)[0]}`}><span class="mark" aria-hidden="true">${lookOf(r.shard.state)[1]}</span></span>${r.item}</a>
          <div class="line-track" role="img" aria-label=${`${t('shard')} ${r.item}: ${r.bars.map((bar) => says(bar).join(', ')).join('; ')}`}>
            ${r.bars.map((bar, k) => {
              const x = at(bar.from - spans.from)
              const w = at(bar.to - spans.from) - x
              if (x > 100 || x + w < 0) return null
              const left = Math.max(0, x)
              const size = Math.min(100, x + w) - left
              return html`<span key=${k} class=${look(bar)} style=${{ left: `${left}%`, width: `${size}%` }} onPointerMove=${(/** @type {PointerEvent} */ e) => !from.current && show(e, html`<b>${t('shard')} ${r.item}</b>${says(bar).map((line) => html`<div>${line}</div>`)}`)} onPointerOut=${hide}>${size > 3 && bar.kind === 'run' && bar.attempt ? `${lookOf(bar.attempt.state)[1]}${bar.attempt.failover ? ' ⇄' : ''}${r.attempts.length > 1 ? ` ${bar.attempt.attempt}` : ''}` : ''}</span>`
            })}
          </div></div>`)}
      </div>
    </div>
    ${tip}
  </figure>`
}

/** @param {Bar} bar */
const look = (bar) => `bar bar-${bar.kind}${bar.kind === 'run' && bar.attempt ? ` s-${lookOf(bar.attempt.state)[0]}` : ''}`

/**
 * says describes a bar in words.
 * @param {Bar} bar
 */
function says(bar) {
  const time = duration(bar.to - bar.from)
  if (bar.kind === 'wait') return [bar.reason ? t('waitFor', { time, reason: bar.reason.slice(0, 300) }) : t('wait', { time })]
  const of = bar.attempt
  if (bar.kind === 'start') return [t('start', { time }), t('on', { agent: agents.nameOf(of?.agent ?? '') })]
  return [`${stateWord(of?.state ?? '')}: ${t('run', { time })}`, [t('attempt', { n: of?.attempt }), of?.failover && t('failover')].filter(Boolean).join(', '), of?.agent ? t('on', { agent: agents.nameOf(of.agent) }) : '', (of?.cause ?? '').slice(0, 300)].filter(Boolean)
}
