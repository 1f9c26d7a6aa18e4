// The shards of a daemon, which run permanently and fire by themselves.
import { html } from '../lib/html.js'
import { seg, withQuery } from '../lib/api.js'
import { duration, number } from '../lib/format.js'
import { useResource } from '../lib/resource.js'
import { texts } from '../lib/texts.js'
import { Agent } from '../pieces/agent.js'
import { Empty } from '../pieces/notice.js'
import { State } from '../pieces/state.js'
import { Table } from '../pieces/table.js'
import { Time } from '../pieces/time.js'
import { link } from '../routes.js'

const t = texts(
  { title: 'Standing execution', none: 'No standing execution', noneHelp: 'A daemon has one while it is enabled.', shard: 'Shard', state: 'State', next: 'Next fire', last: 'Last run', took: 'Duration', runs: 'Runs', failed: 'Failed', skipped: 'Skipped', agent: 'Agent', log: 'Log', now: 'running', failure: 'Last failure of shard {item}:' },
  { title: '常驻执行', none: '没有常驻执行', noneHelp: '常驻作业启用后保持一次常驻执行。', shard: '分片', state: '状态', next: '下次触发', last: '最近运行', took: '耗时', runs: '运行次数', failed: '失败', skipped: '跳过', agent: 'Agent', log: '日志', now: '正在运行', failure: '分片 {item} 最近一次失败：' },
)

/** @param {{job: string, explain: any, jobZone: string}} props */
export function Daemon({ job, explain, jobZone }) {
  const known = explain.running[0]?.executionId ?? explain.waiting[0]?.executionId
  const list = useResource(known ? null : withQuery(`/api/job/${seg(job)}/executions`, { state: 'RUNNING,WAITING', limit: 1 }), { on: (c) => c.jobs.includes(job) })
  const id = known ?? list.data?.[0]?.executionId
  const execution = useResource(id ? `/api/execution/${seg(id)}` : null, { on: (c) => c.executions.includes(id), every: 10_000 })
  const e = execution.data
  return html`<section class="box" style=${{ minHeight: '132px' }}><h2>${t('title')}</h2>
    ${!id ? html`<${Empty} title=${t('none')}><p>${t('noneHelp')}</p></${Empty}>` : e && html`<p><a href=${link.execution(e.executionId)}>${e.executionId}</a> <${State} of=${e.state} /></p><${DaemonShards} shards=${e.shards} jobZone=${jobZone} />${e.shards.map((/** @type {any} */ s) => s.daemon?.lastFailure && html`<p key=${s.item} class="small">${t('failure', { item: s.item })} <${Time} at=${s.daemon.lastFailure.completeTime} jobZone=${jobZone} />, ${s.daemon.lastFailure.failureCause}</p>`)}`}
  </section>`
}

/**
 * DaemonShards shows the state of each shard of a daemon.
 * @param {{shards: any[], jobZone: string}} props
 */
export const DaemonShards = ({ shards, jobZone }) => html`<${Table} label=${t('title')} rows=${shards} id=${(/** @type {any} */ s) => String(s.item)} columns=${[
  { key: 'item', label: t('shard'), num: true, cell: (/** @type {any} */ s) => s.item },
  { key: 'state', label: t('state'), cell: (/** @type {any} */ s) => html`<${State} of=${s.state} />` },
  { key: 'next', label: t('next'), cell: (/** @type {any} */ s) => html`<${Time} at=${s.daemon?.nextFireTime} jobZone=${jobZone} />` },
  { key: 'last', label: t('last'), cell: (/** @type {any} */ s) => (s.daemon?.running ? html`<${State} of="RUNNING" /> ${t('now')}` : s.daemon?.lastRun ? html`<${State} of=${s.daemon.lastRun.state} bare /> <${Time} at=${s.daemon.lastRun.completeTime} jobZone=${jobZone} />` : '–'), title: (/** @type {any} */ s) => s.daemon?.lastRun?.failureCause ?? '' },
  { key: 'took', label: t('took'), num: true, cell: (/** @type {any} */ s) => duration(s.daemon?.lastRun?.durationMillis) },
  { key: 'runs', label: t('runs'), num: true, cell: (/** @type {any} */ s) => number(s.daemon?.runs) },
  { key: 'failed', label: t('failed'), num: true, cell: (/** @type {any} */ s) => number(s.daemon?.failed) },
  { key: 'skipped', label: t('skipped'), num: true, cell: (/** @type {any} */ s) => number(s.daemon?.skipped) },
  { key: 'agent', label: t('agent'), cell: (/** @type {any} */ s) => html`<${Agent} id=${s.agent} none="–" />`, title: (/** @type {any} */ s) => s.agent },
  { key: 'log', label: t('log'), cell: (/** @type {any} */ s) => (s.taskId ? html`<a href=${link.log(s.taskId)}>${t('log')}</a>` : '–') },
]} />`
