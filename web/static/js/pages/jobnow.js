// A job at a glance: its state and the reason, its next fires and its last runs.
import { html } from '../lib/html.js'
import { seg, withQuery } from '../lib/api.js'
import { duration, number, percent } from '../lib/format.js'
import { quantile } from '../lib/ranges.js'
import { useQuery, go } from '../lib/router.js'
import { reasonOf, shortReasonOf } from '../lib/reasons.js'
import { useResource } from '../lib/resource.js'
import { texts } from '../lib/texts.js'
import { Chart } from '../pieces/chart.js'
import { Failure } from '../pieces/notice.js'
import { State } from '../pieces/state.js'
import { Strip, stripHeight } from '../pieces/strip.js'
import { Time } from '../pieces/time.js'
import { link } from '../routes.js'
import { Explain } from './jobexplain.js'
import { NextFires } from './jobfires.js'
import { Daemon } from './jobdaemon.js'

const t = texts(
  {
    next: 'Next fire', never: 'none', last: 'Last run', notRun: 'has not run yet', success: 'Success rate', counts: '{finished} finished, {failed} failed, {killed} killed', took: 'Duration', p50p95: 'median; 95th percentile {p95}', failure: 'Last failure', noFailure: 'none known',
    noHistory: 'needs a history database', strip: 'Last {n|execution|executions}', executions: 'Executions', stripNone: 'Its executions appear here, one column each, one cell per shard.', more: 'How many', chart: 'Duration of executions', run: 'One execution', p50: 'Median of 20', p95: '95th percentile of 20', failed: 'Not finished',
  },
  {
    next: '下次触发', never: '无', last: '最近一次执行', notRun: '尚未执行', success: '成功率', counts: '{finished} 完成，{failed} 失败，{killed} 终止', took: '耗时', p50p95: 'P50；P95 {p95}', failure: '最近一次失败', noFailure: '未知或没有',
    noHistory: '需要历史数据库', strip: '最近 {n} 次执行', executions: '执行记录', stripNone: '执行会显示在这里：每次执行一列，每个分片一格。', more: '数量', chart: '执行耗时', run: '单次执行', p50: '最近 20 次 P50', p95: '最近 20 次 P95', failed: '未完成',
  },
)

const amounts = [30, 60, 200]

/** @param {{job: string, explain: any, doc: any}} props */
export function Now({ job, explain, doc }) {
  const [query, setQuery] = useQuery()
  const amount = amounts.includes(Number(query.runs)) ? Number(query.runs) : 60
  const mine = { on: (/** @type {import('../lib/live.js').Change} */ c) => c.jobs.includes(job), gap: 2000 }
  const daemon = doc?.jobExecutionType === 'DAEMON'
  const grid = useResource(daemon ? null : withQuery(`/api/job/${seg(job)}/grid`, { limit: amount }), mine)
  const statistics = useResource(`/api/job/${seg(job)}/statistics`, { ...mine, gap: 5000 })
  const zone = doc?.timeZone ?? ''
  const runs = grid.data?.executions ?? []
  return html`
    ${doc?.description && html`<p>${doc.description}</p>`}
    <${Cards} explain=${explain} statistics=${statistics} jobZone=${zone} />
    <${Explain} explain=${explain} app=${doc?.appName ?? ''} jobZone=${zone} />
    ${daemon ? html`<${Daemon} job=${job} explain=${explain} jobZone=${zone} />` : html`<section class="box" style=${{ minHeight: '132px' }}>
      <div class="row spread"><h2>${runs.length ? t('strip', { n: runs.length }) : t('executions')}</h2><div class="segments" role="group" aria-label=${t('more')}>${amounts.map((n) => html`<button key=${n} type="button" aria-pressed=${n === amount} onClick=${() => setQuery({ runs: n === 60 ? '' : n })}>${n}</button>`)}</div></div>
      ${!grid.data && grid.error ? html`<${Failure} error=${grid.error} again=${grid.reload} busy=${grid.retrying} />` : grid.data && runs.length === 0 ? html`<p class="muted">${t('stripNone')}</p>` : !grid.data ? html`<div style=${{ minHeight: `${stripHeight(doc?.shardingTotalCount ?? 1)}px` }}></div>` : html`<${Strip} executions=${runs} median=${medianOfShards(runs)} jobZone=${zone} />`}
    </section>`}
    <div class="columns">
      ${!daemon && html`<section class="box" style=${{ minHeight: '244px' }}><h2>${t('chart')}</h2>${grid.data && html`<${Durations} runs=${runs} jobZone=${zone} />`}</section>`}
      ${doc && html`<${NextFires} doc=${doc} explain=${explain} />`}
    </div>`
}

/** @param {import('../pieces/strip.js').Column[]} runs */
const medianOfShards = (runs) => quantile(runs.flatMap((r) => (r.shards ?? []).flatMap((s) => (s.state === 'FINISHED' && s.durationMillis != null ? s.durationMillis : []))), 0.5)

/** @param {{label: string, value: any, children?: any}} props */
const Card = ({ label, value, children }) => html`<div class="card"><div class="label">${label}</div><div class="value">${value}</div><div class="small muted clamp">${children}</div></div>`

/** @param {{explain: any, statistics: import('../lib/resource.js').Resource, jobZone: string}} props */
function Cards({ explain, statistics, jobZone }) {
  const last = explain.lastRun
  const s = statistics.data
  const without = /** @type {any} */ (statistics.error)?.code === 'no_history'
  const failure = s?.lastFailure
  const next = explain.nextFires[0]
  return html`<div class="cards five">
    <${Card} label=${t('next')} value=${html`<${Time} at=${next} jobZone=${jobZone} none=${t('never')} />`}>${next && html`<${Time} at=${next} jobZone=${jobZone} exact />`}</${Card}>
    <${Card} label=${t('last')} value=${last ? html`<a href=${link.execution(last.executionId)}><${State} of=${last.state} /></a>` : '–'}>${last ? html`<${Time} at=${last.completeTime ?? last.fireTime} jobZone=${jobZone} />` : t('notRun')}</${Card}>
    <${Card} label=${t('success')} value=${without ? '–' : percent(s?.successRate)}>${s ? t('counts', { finished: number(s.finished), failed: number(s.failed), killed: number(s.killed) }) : without && t('noHistory')}</${Card}>
    <${Card} label=${t('took')} value=${duration(s?.durationMillis?.p50)}>${s?.durationMillis && t('p50p95', { p95: duration(s.durationMillis.p95) })}</${Card}>
    <${Card} label=${t('failure')} value=${failure ? html`<a href=${link.execution(failure.executionId)}><${Time} at=${failure.completeTime ?? failure.fireTime} jobZone=${jobZone} /></a>` : '–'}><span title=${reasonOf(failure)}>${failure ? shortReasonOf(failure) : s && t('noFailure')}</span></${Card}>
  </div>`
}

/**
 * Durations draws the durations of runs. For each run it also draws the median and the 95th percentile of the finished runs among the
 * last 20 up to this one.
 * @param {{runs: import('../pieces/strip.js').Column[], jobZone: string}} props
 */
function Durations({ runs, jobZone }) {
  const ended = runs.filter((r) => r.durationMillis != null && ['FINISHED', 'FAILED', 'KILLED'].includes(r.state))
  const times = ended.map((r, i) => new Date(r.fireTime).getTime() / 1000 + i / 1e6)
  const before = (/** @type {number} */ i) => ended.slice(Math.max(0, i - 19), i + 1).filter((r) => r.state === 'FINISHED').map((r) => /** @type {number} */ (r.durationMillis))
  const rolling = (/** @type {number} */ share) => ended.map((_, i) => quantile(before(i), share))
  return html`<${Chart} label=${t('chart')} times=${times} jobZone=${jobZone} format=${duration} range=${[2, 3]} onPick=${(/** @type {number} */ i) => go(link.execution(ended[i].executionId))} lines=${[
    { label: t('run'), color: '--finished', dots: true, values: ended.map((r) => (r.state === 'FINISHED' ? r.durationMillis : null)) },
    { label: t('failed'), color: '--failed', dots: true, values: ended.map((r) => (r.state === 'FINISHED' ? null : r.durationMillis)) },
    { label: t('p50'), color: '--armed', values: rolling(0.5) },
    { label: t('p95'), color: '--armed', values: rolling(0.95) },
  ]} />`
}
