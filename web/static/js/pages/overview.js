// The cluster at a glance: problems, current work, next fires, and charts of the past.
import { html, useState } from '../lib/html.js'
import { duration, memory, number, percent, size } from '../lib/format.js'
import { summary as liveSummary } from '../lib/live.js'
import { useQuery } from '../lib/router.js'
import { may } from '../lib/session.js'
import { useSignal } from '../lib/signal.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { overview, overviewFailure } from '../frame/problems.js'
import { Charts } from './charts.js'
import { Density } from './density.js'
import { ProblemList } from './problemlist.js'
import { FirstSteps } from '../pieces/firststeps.js'
import { Failure } from '../pieces/notice.js'
import { State } from '../pieces/state.js'
import { Since } from '../pieces/time.js'

const t = texts(
  {
    title: 'Overview', jobs: 'Jobs', shards: 'Running shards', executions: '{n|execution|executions} running', waiting: 'Waiting executions', oldest: 'the oldest for {age}', nothingWaits: 'none waiting',
    success: 'Success rate, last hour', results: '{finished} finished, {failed} failed', thisTerm: 'since this leader’s term began', launches: 'Launches, last minute', delay: 'Schedule latency', delayHelp: 'from the time of a cron to the launch; median, and 95th percentile {p95}', agents: 'Agents', unreachable: '{n} unreachable', closed: '{n} taking no tasks', documents: 'Documents', documentsOf: 'of {limit}; the largest app has {app} of {appLimit}',
    use: 'In use', cpus: '{used} of {total} CPUs', memory: '{used} of {total}', leader: 'Leader', term: 'term {term}, for', queue: '{n} in the queue: {kind}', none: 'none', unknown: 'unknown',
    READY: 'ready', FAILOVER: 'failover', RETRY: 'retry', DAEMON: 'daemons',
  },
  {
    title: '概览', jobs: '作业', shards: '运行中的分片', executions: '{n} 次执行运行中', waiting: '等待中的执行', oldest: '最长等待 {age}', nothingWaits: '没有等待',
    success: '成功率（最近一小时）', results: '{finished} 完成，{failed} 失败', thisTerm: '自当前主调度器上任以来', launches: '最近一分钟启动数', delay: '调度延迟', delayHelp: '从 cron 时刻到启动；P50，P95 {p95}', agents: 'Agent', unreachable: '{n} 个失联', closed: '{n} 个不接受任务', documents: '文档', documentsOf: '上限 {limit}；最大的应用 {app}，每个应用上限 {appLimit}',
    use: '资源使用', cpus: '{used} / {total} CPU', memory: '{used} / {total}', leader: '主调度器', term: '任期 {term}，已任职', queue: '队列中 {n} 项：{kind}', none: '无', unknown: '未知',
    READY: '就绪', FAILOVER: '失效转移', RETRY: '重试', DAEMON: '常驻',
  },
)

export default function Overview() {
  const all = useSignal(overview)
  const newer = useSignal(liveSummary)
  const failure = useSignal(overviewFailure)
  const [query, setQuery] = useQuery()
  const range = ['hour', 'day', 'week'].includes(query.range) ? query.range : 'hour'
  const s = newer ?? all?.summary
  const [firstStepsReady, setFirstStepsReady] = useState(false)
  const nothing = s && Object.values(s.jobs).every((/** @type {any} */ n) => n === 0)
  // A part is shown only when the parts above it have their final height, so that it does not move.
  const settled = all && (!nothing || firstStepsReady)
  return html`<${Page} title=${t('title')}>
    ${nothing && html`<${FirstSteps} of="overview" onReady=${() => setFirstStepsReady(true)} />`}
    ${!all && failure && html`<${Failure} ...${failure} />`}
    <div class="stack" aria-busy=${!settled && !failure} style=${{ visibility: settled ? 'visible' : 'hidden' }}>
      ${!(nothing && all?.problems.length === 0) && html`<${ProblemList} problems=${all?.problems} total=${all?.problemsTotal} />`}
      ${!nothing && html`<div class="cards">${s && html`<${Cards} s=${s} leader=${all?.leader} />`}</div>
      ${may('viewer') && html`<${Density} /><${Charts} range=${range} onRange=${(/** @type {string} */ r) => setQuery({ range: r === 'hour' ? '' : r })} />`}`}
    </div>
  </${Page}>`
}

/** @param {{label: string, value: any, to?: string, wide?: boolean, long?: boolean, children?: any}} props */
const Card = ({ label, value, to, wide, long, children }) => html`<div class=${`card${wide ? ' wide' : ''}`}><div class="label">${label}</div><div class=${`value${long ? ' long' : ''}`}>${to ? html`<a href=${to}>${value}</a>` : value}</div><div class="small muted">${children}</div></div>`

/** @param {{s: any, leader: any}} props */
function Cards({ s, leader }) {
  const total = Object.values(s.jobs).reduce((/** @type {number} */ a, /** @type {any} */ n) => a + n, 0)
  const ended = s.finishedLastHour + s.failedLastHour
  const queues = (s.queues ?? []).filter((/** @type {any} */ q) => q.depth > 0)
  const young = leader && Date.now() - new Date(leader.since).getTime() < 3_600_000
  const oldest = Math.max(0, ...queues.map((/** @type {any} */ q) => q.oldestSeconds))
  return html`
    <${Card} label=${t('jobs')} value=${number(total)} to="/jobs" wide><span class="chips">${Object.entries(s.jobs).filter(([, n]) => n).map(([state, n]) => html`<a key=${state} href=${`/jobs?state=${state}`}><${State} of=${state} count=${n} bare /></a>`)}</span></${Card}>
    <${Card} label=${t('shards')} value=${number(s.runningShards)} to="/executions?state=RUNNING">${t('executions', { n: s.runningExecutions })}</${Card}>
    <${Card} label=${t('waiting')} value=${number(s.waitingExecutions)} to="/executions?state=WAITING">${queues.length === 0 ? t('nothingWaits') : html`<div>${t('oldest', { age: duration(oldest * 1000) })}</div>${queues.map((/** @type {any} */ q) => html`<div key=${q.kind}>${t('queue', { n: q.depth, kind: t(q.kind) })}</div>`)}`}</${Card}>
    ${s.launchesPerMinute != null && html`
      <${Card} label=${t('success')} value=${ended ? percent(s.finishedLastHour / ended) : '–'} to="/history">${t('results', { finished: number(s.finishedLastHour), failed: number(s.failedLastHour) })}${young && html`<div>${t('thisTerm')}</div>`}</${Card}>
      <${Card} label=${t('launches')} value=${number(s.launchesPerMinute)} />
      <${Card} label=${t('delay')} value=${duration(s.fireDelayMillis?.p50)}>${s.fireDelayMillis && t('delayHelp', { p95: duration(s.fireDelayMillis.p95) })}</${Card}>`}
    ${s.agents && html`<${Card} label=${t('agents')} value=${number(s.agents.total)} to="/cluster">${['unreachable', 'closed'].filter((kind) => s.agents[kind] > 0).map((kind) => t(/** @type {any} */ (kind), { n: s.agents[kind] })).join(', ')}</${Card}>`}
    ${s.cpus && html`<div class="card use"><div class="label">${t('use')}</div>
      <div class="small">${t('cpus', { used: number(s.cpus.used), total: number(s.cpus.total) })}</div><${Meter} of=${s.cpus} />
      <div class="small">${t('memory', { used: memory(s.memoryMB.used), total: memory(s.memoryMB.total) })}</div><${Meter} of=${s.memoryMB} /></div>`}
    ${s.documents && html`<${Card} label=${t('documents')} value=${size(s.documents.bytes)}>${t('documentsOf', { limit: size(s.documents.limitBytes), app: size(s.documents.largestAppBytes), appLimit: size(s.documents.appLimitBytes) })}</${Card}>`}
    ${leader && html`<${Card} label=${t('leader')} long value=${html`<span class="cut" title=${leader.address}>${leader.address}</span>`}>${t('term', { term: leader.term })} <${Since} at=${leader.since} /></${Card}>`}`
}

/** @param {{of: {used: number | null, total: number | null}}} props */
const Meter = ({ of }) => html`<span class="meter" aria-hidden="true"><span style=${{ width: `${of.total ? Math.min(100, (100 * (of.used ?? 0)) / of.total) : 0}%` }}></span></span>`
