// Lines over time. All charts of a page share their crosshair. Missing data is a gap in a line.
import uPlot from '../../vendor/uplot.js'
import { html, useEffect, useRef } from '../lib/html.js'
import { useSignal } from '../lib/signal.js'
import { language, theme } from '../lib/store.js'
import { texts } from '../lib/texts.js'
import { moment } from '../lib/format.js'
import { useZone } from '../lib/zone.js'

const t = texts({ time: 'Time', none: 'No data in this period yet.', summary: '{label}: last {last}, highest {most}' }, { time: '时间', none: '此时段还没有数据。', summary: '{label}：最新 {last}，最高 {most}' })

/**
 * @typedef {object} Line
 * @property {string} label
 * @property {(number | null)[]} values
 * @property {string} color a token, such as --running
 * @property {boolean} [dots] single points instead of a line
 */

/**
 * @typedef {object} ChartProps
 * @property {string} label the name of the chart for screen readers
 * @property {number[]} times seconds since 1970, in ascending order
 * @property {Line[]} lines
 * @property {[lower: number, upper: number]} [range] the indexes of two lines between which the space is filled
 * @property {(value: number | null) => string} format
 * @property {string} [jobZone] the zone of the job whose data is shown
 * @property {number} [height]
 * @property {(index: number) => void} [onPick] called with the point that was clicked
 */

const height = 160
let styled = false

/** withStyle loads the library's stylesheet with the first chart. */
function withStyle() {
  if (styled) return
  styled = true
  const link = document.createElement('link')
  link.rel = 'stylesheet'
  link.href = new URL('../../vendor/uplot.css', import.meta.url).href
  document.head.append(link)
}

/** @param {string} token */
const color = (token) => getComputedStyle(document.documentElement).getPropertyValue(token).trim()

/**
 * Chart draws lines.
 * @param {ChartProps} props
 */
export function Chart(props) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null))
  const latest = useRef(props)
  latest.current = props
  const shown = useRef(/** @type {uPlot | null} */ (null))
  const looks = useSignal(theme)
  const speech = useSignal(language)
  const zone = useZone(props.jobZone)
  const shape = props.lines.map((l) => l.label + l.color).join()
  const empty = props.lines.every((l) => l.values.every((v) => v == null))

  useEffect(() => {
    const element = box.current
    if (!element || empty) return
    withStyle()
    const chart = new uPlot(options(latest.current, element.clientWidth || 600, zone), data(latest.current), element)
    shown.current = chart
    const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: props.height ?? height }))
    resized.observe(element)
    const pick = () => {
      const { idx } = chart.cursor
      if (idx != null) latest.current.onPick?.(idx)
    }
    chart.over.addEventListener('click', pick)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const redraw = () => chart.redraw(false)
    dark.addEventListener('change', redraw)
    return () => {
      dark.removeEventListener('change', redraw)
      resized.disconnect()
      chart.destroy()
      shown.current = null
    }
  }, [shape, looks, speech, zone, empty])

  useEffect(() => {
    shown.current?.setData(data(props))
  }, [props.times, ...props.lines.map((l) => l.values)])

  if (empty) return html`<div class="chart muted" style=${{ height: `${props.height ?? height}px` }}>${t('none')}</div>`
  const summary = props.lines.map((l) => {
    const known = /** @type {number[]} */ (l.values.filter((v) => v != null))
    return t('summary', { label: l.label, last: props.format(known.at(-1) ?? null), most: props.format(known.reduce((a, b) => Math.max(a, b), -Infinity)) })
  })
  return html`<figure class="chart" role="img" aria-label=${`${props.label}. ${summary.join('. ')}`}><div ref=${box} style=${{ minHeight: `${(props.height ?? height) + 24}px` }}></div></figure>`
}

/** @param {ChartProps} props @returns {uPlot.AlignedData} */
const data = (props) => [props.times, ...props.lines.map((l) => l.values)]

/**
 * @param {ChartProps} props
 * @param {number} width
 * @param {string} zoneName
 * @returns {uPlot.Options}
 */
function options(props, width, zoneName) {
  const axis = {
    stroke: () => color('--text-2'),
    grid: { stroke: () => color('--line'), width: 1 },
    ticks: { stroke: () => color('--line'), width: 1, size: 4 },
    font: '11px system-ui, sans-serif',
  }
  const day = 86_400
  return {
    width,
    height: props.height ?? height,
    padding: [8, 20, 0, 0],
    cursor: { sync: { key: 'page' }, drag: { x: false, y: false }, points: { size: 6 } },
    legend: { live: true },
    hooks: { setCursor: [showLast], ready: [showLast], setData: [showLast] },
    scales: { x: { time: true, range: (u, min, max) => (u.data[0].length === 1 ? [min - 1800, min + 1800] : [min, max]) }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      { ...axis, size: 28, space: 80, values: (u, ticks) => ticks.map((s) => label(s, (u.scales.x.max ?? 0) - (u.scales.x.min ?? 0) > 2 * day, zoneName)) },
      { ...axis, size: 64, space: 32, values: (_, ticks) => ticks.map((v) => props.format(v)) },
    ],
    bands: props.range && [{ series: [props.range[1] + 1, props.range[0] + 1], fill: () => `${color(props.lines[props.range?.[0] ?? 0].color)}26` }],
    series: [
      { label: t('time'), value: (_, v) => (v == null ? '–' : moment(v * 1000, zoneName, { seconds: false })) },
      ...props.lines.map((l) => ({
        label: l.label,
        stroke: () => color(l.color),
        width: l.dots ? 0 : 1.5,
        spanGaps: false,
        points: { show: l.dots, size: 5, fill: () => color(l.color) },
        value: (/** @type {uPlot} */ _, /** @type {number | null} */ v) => (v == null ? '–' : props.format(v)),
      })),
    ],
  }
}

/**
 * showLast makes the legend show the last point while the user points at none.
 * @param {uPlot} chart
 */
function showLast(chart) {
  if (chart.cursor.idx == null) chart.setLegend({ idx: chart.data[0].length - 1 }, false)
}

/** @param {number} seconds @param {boolean} long @param {string} zoneName */
function label(seconds, long, zoneName) {
  const text = moment(seconds * 1000, zoneName, { seconds: false })
  return long ? text.slice(5, 10) : text.slice(11)
}
