// One agent: the tasks that run on it, and their executors.
import { html } from '../lib/html.js'
import { useAgentNames } from '../lib/agents.js'
import { seg } from '../lib/api.js'
import { memory, number, percent } from '../lib/format.js'
import { useResource } from '../lib/resource.js'
import { useTakesImages } from '../lib/takes.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { Empty, Loaded } from '../pieces/notice.js'
import { State } from '../pieces/state.js'
import { Table } from '../pieces/table.js'
import { Since, Time } from '../pieces/time.js'
import { UseBar } from '../pieces/usebar.js'
import { link } from '../routes.js'
import { Executors, StartFailures, noteOfAgent } from './cluster.js'
import { MachineActs } from './machine.js'

const t = texts(
  {
    cluster: 'Cluster', host: 'Host', since: 'Since', cpus: 'CPUs', memory: 'Memory', offer: 'Offer held', offerFor: '{cpus} CPUs, {memory}, since', none: 'none', running: 'Running here', job: 'Job', item: 'Shard', state: 'State', lasts: 'Duration', progress: 'Progress', execution: 'Execution', log: 'Output', executors: 'Executors',
    starts: 'Start failures', note: 'Note', some: 'The first {n} of {total}.', noExecutors: 'No executors here now.', nothing: 'No tasks of this framework run here', nothingHelp: 'Its free resources are offered when a job needs them.', unreachable: 'The cluster’s master has lost contact with this agent. Its tasks may still run. After a minute, or the time that the job or the server has set, each shard is given up: shards of daemons and of jobs with failover then run elsewhere, others are lost. An exclusive shard starts again only when the lease of its last attempt, the kill grace period and a margin are over.', unreachablePods: 'Its node is not ready. Its tasks may still run. After a minute, or the time that the job or the server has set, each shard is given up: shards of daemons and of jobs with failover then run elsewhere, others are lost. An exclusive shard starts again only when the lease of its last attempt, the kill grace period and a margin are over. Without --lease-urls it has no lease and is not given up: it waits until the node is back or removed, or is declared dead.',
  },
  {
    cluster: '集群', host: '主机', since: '开始时间', cpus: 'CPU', memory: '内存', offer: '持有的 Offer', offerFor: '{cpus} CPU，{memory}，提供于', none: '无', running: '正在运行', job: '作业', item: '分片', state: '状态', lasts: '已运行', progress: '进度', execution: '执行记录', log: '输出', executors: '执行器',
    starts: '启动失败', note: '备注', some: '前 {n} 个，共 {total} 个。', noExecutors: '当前没有执行器。', nothing: '本框架在此没有运行任何任务', nothingHelp: '作业需要时，其空闲资源会被提供出来。', unreachable: '集群收不到此 Agent 的消息。其上的任务可能仍在运行。失联一分钟后（或作业、调度器设定的时间后）放弃这些分片：常驻作业和启用失效转移的作业，其分片在别处运行；其他分片视为丢失。独占作业的分片要等上一次尝试的租约、终止宽限期和余量都结束，才会再次启动。', unreachablePods: '其节点未就绪，其上的任务可能仍在运行。失联一分钟后（或作业、调度器设定的时间后）放弃这些分片：常驻作业和启用失效转移的作业，其分片在别处运行；其他分片视为丢失。独占作业的分片要等上一次尝试的租约、终止宽限期和余量都结束，才会再次启动；未设置 --lease-urls 时没有租约，这些分片不会被放弃，而是等到节点恢复、被移除或被宣布永久失效。',
  },
)

/** @typedef {{executionId: string, jobName: string, item: number, taskId: string, state: string, since: string, progress: {fraction: number, message?: string, notice?: boolean} | null}} Running */

/** @param {{agent: string}} props */
export default function AgentPage({ agent }) {
  const of = useResource(`/api/cluster/agents/${seg(agent)}`, { on: (c) => c.cluster || c.executions.length > 0, every: 10_000 })
  const row = of.data
  const nameOf = useAgentNames()
  const pods = useTakesImages()
  return html`<${Page} title=${nameOf(agent, row?.hostname)} crumbs=${[{ to: '/cluster', text: t('cluster') }]} heading=${row?.state && html`<${State} of=${row.state} />`} acts=${row && html`<${MachineActs} host=${row.hostname} cordon=${row.cordon} then=${of.reload} />`}>
    <${Loaded} of=${of}>${(/** @type {any} */ a) => html`
      ${row.state === 'UNREACHABLE' && html`<p class="notice error">${t(pods ? 'unreachablePods' : 'unreachable')}</p>`}
      <div class="box"><dl class="facts">
        <dt>ID</dt><dd class="mono">${row.id}</dd>
        <dt>${t('since')}</dt><dd><${Time} at=${row.since} /></dd>
        <dt>${t('cpus')}</dt><dd><${UseBar} use=${row.cpus} format=${number} label=${t('cpus')} /></dd>
        <dt>${t('memory')}</dt><dd><${UseBar} use=${row.memoryMB} format=${memory} label=${t('memory')} /></dd>
        ${noteOfAgent(row) && html`<dt>${t('note')}</dt><dd>${noteOfAgent(row)}</dd>`}
        <dt>${t('offer')}</dt><dd>${row.offer ? html`${t('offerFor', { cpus: number(row.offer.cpus), memory: memory(row.offer.memoryMB) })} <${Time} at=${row.offer.since} />` : t('none')}</dd>
      </dl></div>
      <section class="stack" aria-label=${t('running')}>
        <h2>${t('running')} <span class="muted">${number(a.tasks)}</span></h2>
        ${a.running.length === 0 ? html`<${Empty} title=${t('nothing')}><p>${t('nothingHelp')}</p></${Empty}>` : html`<${RunningHere} rows=${a.running} />`}
        ${a.tasks > a.running.length && a.running.length > 0 && html`<p class="muted small">${t('some', { n: number(a.running.length), total: number(a.tasks) })}</p>`}
      </section>
      ${pods === false && html`<section class="stack" aria-label=${t('executors')}>
        <h2>${t('executors')}</h2>
        ${a.executors.length === 0 ? html`<p class="muted">${t('noExecutors')}</p>` : html`<${Executors} executors=${a.executors} />`}
      </section>`}
      ${a.startFailures.length > 0 && html`<section class="stack" aria-label=${t('starts')}><h2>${t('starts')}</h2><${StartFailures} rows=${a.startFailures} /></section>`}`}</${Loaded}>
  </${Page}>`
}

/** @param {{rows: Running[]}} props */
const RunningHere = ({ rows }) => html`<${Table} label=${t('running')} rows=${rows} id=${(/** @type {Running} */ r) => r.taskId} to=${(/** @type {Running} */ r) => link.execution(r.executionId)} columns=${[
  { key: 'job', label: t('job'), cell: (/** @type {Running} */ r) => html`<a href=${link.job(r.jobName)}>${r.jobName}</a>`, title: (/** @type {Running} */ r) => r.jobName },
  { key: 'item', label: t('item'), num: true, cell: (/** @type {Running} */ r) => r.item },
  { key: 'state', label: t('state'), cell: (/** @type {Running} */ r) => html`<${State} of=${r.state} />` },
  { key: 'lasts', label: t('lasts'), num: true, cell: (/** @type {Running} */ r) => html`<${Since} at=${r.since} />` },
  { key: 'progress', label: t('progress'), cell: (/** @type {Running} */ r) => html`<${Progress} of=${r.progress} />`, title: (/** @type {Running} */ r) => r.progress?.message },
  { key: 'log', label: t('log'), cell: (/** @type {Running} */ r) => html`<a href=${link.log(r.taskId)}>${t('log')}</a>` },
  { key: 'execution', label: t('execution'), cell: (/** @type {Running} */ r) => html`<a href=${link.execution(r.executionId)}>${r.executionId}</a>`, title: (/** @type {Running} */ r) => r.executionId },
]} />`

/** @param {{of: {fraction: number, message?: string, notice?: boolean} | null}} props */
function Progress({ of }) {
  if (!of) return html`<span class="muted">–</span>`
  return html`<span class="usebar">${!of.notice && html`<span class="usebar-bar" aria-hidden="true"><span class="ours" style=${{ width: `${100 * Math.min(1, Math.max(0, of.fraction))}%` }}></span></span><span class="usebar-text">${percent(of.fraction)}</span>`} ${of.message && html`<span class="cut">${of.message}</span>`}</span>`
}
