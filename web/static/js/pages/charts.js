// Charts of the last hour, day or week.
import { html } from '../lib/html.js'
import { duration, number } from '../lib/format.js'
import { useResource } from '../lib/resource.js'
import { texts } from '../lib/texts.js'
import { Chart } from '../pieces/chart.js'
import { Failure } from '../pieces/notice.js'

const t = texts(
  {
    hour: 'Hour', day: 'Day', week: 'Week', range: 'Time range', results: 'Shard runs', finished: 'Finished', failed: 'Failed', work: 'Running and waiting', running: 'Running shards', waiting: 'Waiting shards',
    launches: 'Launches', launched: 'Launched shards', delay: 'Schedule latency', p50: 'Median', p95: '95th percentile',
  },
  {
    hour: '一小时', day: '一天', week: '一周', range: '时间范围', results: '分片运行', finished: '完成', failed: '失败', work: '运行中与等待中', running: '运行中的分片', waiting: '等待中的分片',
    launches: '启动', launched: '启动的分片', delay: '调度延迟', p50: 'P50', p95: 'P95',
  },
)

/**
 * Charts draws the charts of the overview, with one switch for the period of all.
 * @param {{range: string, onRange: (range: string) => void}} props
 */
export function Charts({ range, onRange }) {
  const series = useResource(`/api/overview/series?range=${range}`, { every: 30_000 })
  const d = series.data
  return html`<div class="row spread"><div class="segments range-switch" role="group" aria-label=${t('range')}>
      ${/** @type {const} */ (['hour', 'day', 'week']).map((r) => html`<button key=${r} type="button" aria-pressed=${r === range} onClick=${() => onRange(r)}>${t(r)}</button>`)}
    </div></div>
    ${!d && series.error ? html`<${Failure} error=${series.error} again=${series.reload} busy=${series.retrying} />` : html`<div class="columns">
      <${Panel} title=${t('results')} d=${d} lines=${[[t('finished'), 'finished', '--finished'], [t('failed'), 'failed', '--failed']]} format=${number} />
      <${Panel} title=${t('work')} d=${d} lines=${[[t('running'), 'running', '--running'], [t('waiting'), 'waiting', '--waiting']]} format=${number} />
      <${Panel} title=${t('launches')} d=${d} lines=${[[t('launched'), 'launched', '--accent']]} format=${number} />
      <${Panel} title=${t('delay')} d=${d} lines=${[[t('p50'), 'fireDelayP50Millis', '--armed'], [t('p95'), 'fireDelayP95Millis', '--armed']]} between format=${duration} />
    </div>`}`
}

/** @param {{title: string, d: any, lines: [label: string, key: string, color: string][], between?: boolean, format: (v: number | null) => string}} props */
const Panel = ({ title, d, lines, between, format }) => html`<section class="box" style=${{ minHeight: '244px' }}><h2>${title}</h2>
  ${d && html`<${Chart} label=${title} times=${d.times} format=${format} range=${between ? [0, 1] : undefined} lines=${lines.map(([label, key, color]) => ({ label, values: d[key], color }))} />`}
</section>`
