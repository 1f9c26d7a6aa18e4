// The original's charts, from the history.
import { html } from '../lib/html.js'
import { number, percent } from '../lib/format.js'
import { useResource } from '../lib/resource.js'
import { texts } from '../lib/texts.js'
import { Chart } from './chart.js'
import { Empty, Loaded } from './notice.js'

const t = texts(
  {
    lastMinute: 'Last minute', lastHour: 'Last hour', lastWeek: 'Last week', online: 'All history', finished: 'Finished', failed: 'Failed', nothing: 'No runs ended', rate: '{share} finished', results: 'Results in 5 minutes, last 24 hours', running: 'Running, last week', jobsRunning: 'Jobs', tasksRunning: 'Tasks', registered: 'Registered jobs, each day', types: 'Jobs by type', transient: 'Transient', daemon: 'Daemon',
    noHistory: 'There is no history', noHistoryHelp: 'Statistics come from what is recorded in a database: start the scheduler with --db.',
  },
  {
    lastMinute: '最近一分钟', lastHour: '最近一小时', lastWeek: '最近一周', online: '全部历史', finished: '成功', failed: '失败', nothing: '没有运行结束', rate: '成功率 {share}', results: '最近 24 小时的运行结果（每 5 分钟）', running: '最近一周的运行情况', jobsRunning: '作业', tasksRunning: '任务', registered: '每日注册作业数', types: '作业类型', transient: '瞬时', daemon: '常驻',
    noHistory: '没有历史记录', noHistoryHelp: '统计来自数据库中的记录：请用 --db 启动调度器。',
  },
)

const every = 30_000

/** @typedef {{successCount: number, failedCount: number, statisticsTime: string}} Results */
/** @typedef {{runningCount?: number, registeredCount?: number, statisticsTime: string}} Count */

/** Statistics draws the charts. */
export function Statistics() {
  const results = useResource('/api/job/statistics/tasks/results', { every })
  const tasks = useResource('/api/job/statistics/tasks/running', { every })
  const jobs = useResource('/api/job/statistics/jobs/running', { every })
  const registered = useResource('/api/job/statistics/jobs/register', { every })
  const error = /** @type {any} */ (results.error)
  if (results.data === undefined && error?.code === 'no_history') return html`<${Empty} title=${t('noHistory')}><p>${t('noHistoryHelp')}</p></${Empty}>`
  return html`<div class="shares">
      ${/** @type {const} */ (['lastMinute', 'lastHour', 'lastWeek', 'online']).map((period) => html`<${Share} key=${period} period=${period} />`)}
      <${Types} />
    </div>
    <section class="box"><h2>${t('results')}</h2><${Loaded} of=${results}>${(/** @type {Results[]} */ rows) => {
      const { times, columns } = lastDay(rows)
      return html`<${Chart} label=${t('results')} times=${times} format=${number} lines=${[{ label: t('finished'), values: columns[0], color: '--finished' }, { label: t('failed'), values: columns[1], color: '--failed' }]} />`
    }}</${Loaded}></section>
    <section class="box"><h2>${t('running')}</h2><${Loaded} of=${tasks}>${(/** @type {Count[]} */ rows) => {
      const of = evenly(joined(rows, jobs.data ?? []), 60, [(r) => r.tasks, (r) => r.jobs])
      return html`<${Chart} label=${t('running')} times=${of.times} format=${number} lines=${[{ label: t('tasksRunning'), values: of.columns[0], color: '--running' }, { label: t('jobsRunning'), values: of.columns[1], color: '--armed' }]} />`
    }}</${Loaded}></section>
    <section class="box"><h2>${t('registered')}</h2><${Loaded} of=${registered}>${(/** @type {Count[]} */ rows) => html`<${Chart} label=${t('registered')} times=${rows.length === 1 ? [seconds(rows[0]) - 86_400, seconds(rows[0])] : rows.map(seconds)} format=${number} lines=${[{ label: t('registered'), values: [...(rows.length === 1 ? [null] : []), ...rows.map((r) => r.registeredCount ?? null)], color: '--accent', dots: rows.length < 3 }]} />`}</${Loaded}></section>`
}

/** @param {{statisticsTime: string}} r */
const seconds = (r) => Math.floor(Date.parse(r.statisticsTime) / 1000)

/** joined joins the counts of tasks and jobs by time. @param {Count[]} tasks @param {Count[]} jobs */
function joined(tasks, jobs) {
  const of = new Map(jobs.map((j) => [j.statisticsTime, j.runningCount]))
  return tasks.map((r) => ({ statisticsTime: r.statisticsTime, tasks: r.runningCount ?? null, jobs: of.get(r.statisticsTime) ?? null }))
}

/**
 * lastDay sums up results by five minutes. Where rows are missing, no run ended, so the sum is 0. Before the first row, the sum is not
 * known, so it is null.
 * @param {Results[]} rows
 */
function lastDay(rows) {
  const step = 300
  const first = Math.floor(Date.now() / 1000 / step) * step - 86_400
  const times = Array.from({ length: 289 }, (_, i) => first + i * step)
  const from = Math.min(...rows.map(seconds))
  const columns = [0, 1].map(() => times.map((at) => (at + step > from ? 0 : /** @type {number | null} */ (null))))
  for (const r of rows) {
    const k = Math.floor((seconds(r) - first) / step)
    if (k < 0 || k >= times.length) continue
    columns[0][k] = (columns[0][k] ?? 0) + r.successCount
    columns[1][k] = (columns[1][k] ?? 0) + r.failedCount
  }
  return { times, columns }
}

/**
 * evenly puts rows at even steps, with null for missing ones, so that they are drawn as gaps. If there are more than 400 points, each
 * point is the highest of several rows.
 * @template {{statisticsTime: string}} R
 * @param {R[]} rows in any order
 * @param {number} step seconds
 * @param {((row: R) => number | null)[]} of
 */
function evenly(rows, step, of) {
  if (rows.length === 0) return { times: [], columns: of.map(() => /** @type {(number | null)[]} */ ([])) }
  const at = rows.map(seconds)
  const first = Math.min(...at)
  const wide = step * Math.max(1, Math.ceil((Math.max(...at) - first) / step / 400))
  const n = Math.floor((Math.max(...at) - first) / wide) + 1
  const times = Array.from({ length: n }, (_, i) => first + i * wide)
  const columns = of.map((value) => {
    const column = /** @type {(number | null)[]} */ (new Array(n).fill(null))
    rows.forEach((r, i) => {
      const k = Math.floor((at[i] - first) / wide)
      const v = value(r)
      if (v !== null) column[k] = Math.max(column[k] ?? 0, v)
    })
    return column
  })
  return { times, columns }
}

/** @param {{period: 'lastMinute' | 'lastHour' | 'lastWeek' | 'online'}} props */
function Share({ period }) {
  const of = useResource(`/api/job/statistics/tasks/results/${period}`, { every })
  const good = of.data?.successCount ?? 0
  const bad = of.data?.failedCount ?? 0
  const sum = good + bad
  return html`<div class="card"><div class="label">${t(period)}</div>
    <div class="value">${of.data ? number(sum) : '–'}</div>
    <div class="small muted">${!of.data ? (of.error?.message ?? '\u00a0') : sum === 0 ? t('nothing') : html`${t('rate', { share: percent(good / sum) })} · ${t('finished')} ${number(good)} · ${t('failed')} ${number(bad)}`}</div>
    <div class="share" aria-hidden="true">${sum > 0 && html`<span class="good" style=${{ width: `${(100 * good) / sum}%` }}></span><span class="bad" style=${{ width: `${(100 * bad) / sum}%` }}></span>`}</div>
  </div>`
}

function Types() {
  const of = useResource('/api/job/statistics/jobs/executionType', { on: (c) => c.jobs.length > 0, gap: 5000 })
  const { transientJobCount = 0, daemonJobCount = 0 } = of.data ?? {}
  return html`<div class="card"><div class="label">${t('types')}</div><div class="value">${of.data ? number(transientJobCount + daemonJobCount) : '–'}</div>
    <div class="small muted"><a href="/jobs?type=TRANSIENT">${t('transient')} ${number(transientJobCount)}</a> · <a href="/jobs?type=DAEMON">${t('daemon')} ${number(daemonJobCount)}</a></div></div>`
}
