// The cluster: agents, executors, and their problems.
import { html, useEffect } from '../lib/html.js'
import { agents } from '../lib/agents.js'
import { get, withQuery } from '../lib/api.js'
import { memory, moment, number } from '../lib/format.js'
import { noteOf, startCauseOf } from '../lib/reasons.js'
import { useResource } from '../lib/resource.js'
import { useQuery } from '../lib/router.js'
import { may } from '../lib/session.js'
import { useTakesImages } from '../lib/takes.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { Agent as Name } from '../pieces/agent.js'
import { Faulty } from '../pieces/faulty.js'
import { Empty, Loaded } from '../pieces/notice.js'
import { Reconcile } from '../pieces/reconcile.js'
import { State } from '../pieces/state.js'
import { Pager, Table } from '../pieces/table.js'
import { Time } from '../pieces/time.js'
import { UseBar } from '../pieces/usebar.js'
import { link } from '../routes.js'
import { Machines, cordonNote } from './machine.js'

const t = texts(
  {
    title: 'Cluster', agents: 'Agents', agent: 'Agent', host: 'Host', state: 'State', since: 'Since', cpus: 'CPUs', memory: 'Memory', tasks: 'Tasks', offer: 'Offer held', offerFor: '{cpus} CPUs, {memory}', none: 'No agents yet', noneHelp: 'An agent is known once it has offered resources. With --local there is one from the start; with Mesos, check whether agents are registered with its master and whether the framework may get their resources; with Kubernetes, whether a node is ready.',
    nothing: 'No agent matches “{search}”', clear: 'Show all agents', filter: 'Filter by host or id', executors: 'Executors', executor: 'Executor', app: 'App', generation: 'Generation', report: 'Last report', note: 'Note', noExecutors: 'No executors now. Each app gets one on an agent when a job of it runs there.',
    starts: 'Start failures', startsHelp: 'An app that fails to start on an agent is not placed there for a while. Fix what the reason names; it is retried automatically.', failures: 'Failures', notBefore: 'Next try', cause: 'Reason',
    subscribed: 'Subscribed', not: 'Not subscribed', notHelp: 'Nothing is launched until the cluster’s master accepts this framework. The leader’s log says why it does not.', notHelpPods: 'Nothing is launched until the API server answers. The leader’s log says why it does not.', master: 'Master', framework: 'Framework', used: 'used of {total}', offers: 'Offers held', unknown: 'not reported yet', maintenance: 'maintenance from {from} until {until}', everywhere: 'all agents: package not fetched from {host}', some: 'The first {n} of {total}.',
  },
  {
    title: '集群', agents: 'Agent', agent: 'Agent', host: '主机', state: '状态', since: '开始时间', cpus: 'CPU', memory: '内存', tasks: '任务', offer: '持有的 Offer', offerFor: '{cpus} CPU，{memory}', none: '还没有 Agent', noneHelp: 'Agent 提供资源后才会出现在这里。使用 --local 时一开始就有一个；使用 Mesos 时，请检查 Agent 是否已在 Master 注册，以及本框架是否能获得其资源；使用 Kubernetes 时，请检查是否有就绪的节点。',
    nothing: '没有符合“{search}”的 Agent', clear: '显示所有 Agent', filter: '按主机或 ID 筛选', executors: '执行器', executor: '执行器', app: '应用', generation: '执行器版本代数', report: '最近报告', note: '备注', noExecutors: '当前没有执行器。应用的作业在某个 Agent 上运行时，会在那里启动一个。',
    starts: '启动失败', startsHelp: '如果应用无法在某个 Agent 上启动，它会暂时避开该 Agent。请按原因修复，系统会自动重试。', failures: '失败次数', notBefore: '下次尝试', cause: '原因',
    subscribed: '已订阅', not: '未订阅', notHelp: '在 Mesos Master 接受本框架之前，不会启动任何任务。原因见主调度器的日志。', notHelpPods: '在 API 服务器应答之前，不会启动任何任务。原因见主调度器的日志。', master: 'Master', framework: '框架', used: '已用，共 {total}', offers: '持有的 Offer', unknown: '尚无消息', maintenance: '维护时间 {from} 至 {until}', everywhere: '所有 Agent：无法从 {host} 获取应用包', some: '前 {n} 条，共 {total} 条。',
  },
)

/** @typedef {import('../pieces/usebar.js').Use} Use */
/** @typedef {{id: string, hostname: string, state: string | null, since: string | null, maintenance?: {from: string, until: string | null}, cordon?: import('./machine.js').Cordon, cpus: Use, memoryMB: Use, tasks: number, offer: {cpus: number, memoryMB: number, since: string} | null, note: string}} Agent */
/** @typedef {{id: string, app: string, agent: string, generation: number, state: string, tasks: number, cpus: number, memoryMB: number, since: string | null, lastReport: string | null, note: string}} Executor */

const perPage = 100

/** @param {string} path @param {AbortSignal} signal */
async function readCluster(path, signal) {
  const cluster = await get(path, signal)
  agents.add(cluster.agents)
  return cluster
}

export default function Cluster() {
  const [query, setQuery] = useQuery()
  const page = Math.max(1, Number(query.page) || 1)
  const cluster = useResource(withQuery('/api/cluster', { search: query.search, page: page > 1 ? page : '', per_page: perPage }), { on: (c) => c.cluster, every: 10_000, read: readCluster })
  const pods = useTakesImages()
  useAnchor(cluster.data !== undefined)
  return html`<${Page} title=${t('title')} acts=${may('operator') && html`<${Reconcile} />`}>
    <${Loaded} of=${cluster}>${(/** @type {any} */ c) => html`
      <${Subscription} of=${c} pods=${pods} />
      <section class="stack" aria-label=${t('agents')}>
        <div class="row spread"><h2>${t('agents')}</h2><input class="input filter" type="search" aria-label=${t('filter')} placeholder=${t('filter')} value=${query.search ?? ''} onInput=${(/** @type {any} */ e) => setQuery({ search: e.target.value, page: '' })} /></div>
        ${c.agents.length === 0
          ? query.search
            ? html`<${Empty} title=${t('nothing', { search: query.search })}><button type="button" class="button" onClick=${() => setQuery({ search: '', page: '' })}>${t('clear')}</button></${Empty}>`
            : html`<${Empty} title=${t('none')}><p>${t('noneHelp')}</p></${Empty}>`
          : html`<${Agents} agents=${c.agents} />`}
        ${c.agentsTotal > perPage && html`<${Pager} page=${page} perPage=${perPage} total=${c.agentsTotal} onPage=${(/** @type {number} */ p) => setQuery({ page: p > 1 ? p : '' }, { push: true })} />`}
      </section>
      <${Machines} machines=${c.machines} then=${cluster.reload} />
      ${pods === false && html`<section class="stack" id="executors" aria-label=${t('executors')}>
        <h2>${t('executors')}</h2>
        ${c.executors.length === 0 ? html`<p class="muted">${t('noExecutors')}</p>` : html`<${Executors} executors=${c.executors} />`}
      </section>`}
      ${c.startFailures.length > 0 && html`<section class="stack" id="starts" aria-label=${t('starts')}>
        <div><h2>${t('starts')}</h2><p class="muted">${t('startsHelp')}</p></div>
        <${StartFailures} rows=${c.startFailures} />
        ${c.startFailuresTotal > c.startFailures.length && html`<p class="muted small">${t('some', { n: c.startFailures.length, total: c.startFailuresTotal })}</p>`}
      </section>`}
      <${Faulty} />`}</${Loaded}>
  </${Page}>`
}

/** useAnchor scrolls to the part of the page that the address names, once that part is drawn. @param {boolean} ready */
function useAnchor(ready) {
  useEffect(() => {
    if (!ready || !location.hash) return
    const timer = setTimeout(() => document.getElementById(location.hash.slice(1))?.scrollIntoView({ block: 'start' }), 300)
    return () => clearTimeout(timer)
  }, [ready, location.hash])
}

/**
 * Subscription shows the leader's subscription to the cluster. It shows no master on Kubernetes, which has none.
 * @param {{of: any, pods: boolean | undefined}} props
 */
function Subscription({ of: c, pods }) {
  return html`<div class="cards">
    <div class="card"><div class="label">${t('state')}</div><div class="value small-value"><${State} of=${c.subscribed ? 'SUBSCRIBED' : 'NOT_SUBSCRIBED'} /></div><div class="small muted">${c.subscribed ? html`${t('since')} <${Time} at=${c.since} />` : t(pods ? 'notHelpPods' : 'notHelp')}</div></div>
    <div class="card"><div class="label">${t('cpus')}</div><div class="value">${number(c.cpus.used)}</div><div class="small muted">${t('used', { total: number(c.cpus.total) })}</div></div>
    <div class="card"><div class="label">${t('memory')}</div><div class="value">${memory(c.memoryMB.used)}</div><div class="small muted">${t('used', { total: memory(c.memoryMB.total) })}</div></div>
    <div class="card"><div class="label">${t('agents')}</div><div class="value">${number(c.agentsTotal)}</div><div class="small muted">${t('offers')}: ${number(c.offersHeld)}</div></div>
    <div class="card wide-card"><dl class="facts small">${pods === false && html`<dt>${t('master')}</dt><dd class="mono">${c.master || '–'}</dd>`}<dt>${t('framework')}</dt><dd class="mono">${c.frameworkName ? `${c.frameworkName} · ` : ''}${c.frameworkId || '–'}</dd></dl></div>
  </div>`
}

/** @param {{agents: Agent[]}} props */
const Agents = ({ agents }) => html`<${Table} label=${t('agents')} rows=${agents} id=${(/** @type {Agent} */ a) => a.id} to=${(/** @type {Agent} */ a) => link.agent(a.id)} columns=${[
  { key: 'host', label: t('host'), cell: (/** @type {Agent} */ a) => html`<${Name} id=${a.id} hostname=${a.hostname} />`, title: (/** @type {Agent} */ a) => a.id },
  { key: 'state', label: t('state'), cell: (/** @type {Agent} */ a) => (a.state ? html`<${State} of=${a.state} />` : html`<span class="muted">${t('unknown')}</span>`) },
  { key: 'since', label: t('since'), cell: (/** @type {Agent} */ a) => html`<${Time} at=${a.since} />` },
  { key: 'cpus', label: t('cpus'), cell: (/** @type {Agent} */ a) => html`<${UseBar} use=${a.cpus} format=${number} label=${t('cpus')} />` },
  { key: 'memory', label: t('memory'), cell: (/** @type {Agent} */ a) => html`<${UseBar} use=${a.memoryMB} format=${memory} label=${t('memory')} />` },
  { key: 'tasks', label: t('tasks'), num: true, cell: (/** @type {Agent} */ a) => html`<a href=${link.agent(a.id)}>${number(a.tasks)}</a>` },
  { key: 'offer', label: t('offer'), cell: (/** @type {Agent} */ a) => (a.offer ? html`${t('offerFor', { cpus: number(a.offer.cpus), memory: memory(a.offer.memoryMB) })} <span class="muted"><${Time} at=${a.offer.since} /></span>` : html`<span class="muted">–</span>`) },
  { key: 'note', label: t('note'), cell: (/** @type {Agent} */ a) => noteOfAgent(a) },
  { key: 'id', label: 'ID', cell: (/** @type {Agent} */ a) => html`<span class="mono muted">${a.id}</span>`, title: (/** @type {Agent} */ a) => a.id },
]} />`

/**
 * noteOfAgent returns what an operator should know about an agent, such as that it is cordoned.
 * @param {Agent} a
 */
export const noteOfAgent = (a) => [cordonNote(a.cordon), noteOf(a), a.maintenance && t('maintenance', { from: moment(a.maintenance.from, ''), until: a.maintenance.until ? moment(a.maintenance.until, '') : '?' })].filter(Boolean).join('; ')

/**
 * Executors shows the executors, each of which starts the tasks of an app on an agent.
 * @param {{executors: Executor[]}} props
 */
export const Executors = ({ executors }) => html`<${Table} label=${t('executors')} rows=${executors} id=${(/** @type {Executor} */ e) => e.id} columns=${[
  { key: 'app', label: t('app'), cell: (/** @type {Executor} */ e) => html`<a href=${link.app(e.app)}>${e.app}</a>`, title: (/** @type {Executor} */ e) => e.app },
  { key: 'agent', label: t('agent'), cell: (/** @type {Executor} */ e) => html`<${Name} id=${e.agent} />`, title: (/** @type {Executor} */ e) => e.agent },
  { key: 'state', label: t('state'), cell: (/** @type {Executor} */ e) => html`<${State} of=${e.state} />` },
  { key: 'since', label: t('since'), cell: (/** @type {Executor} */ e) => html`<${Time} at=${e.since} />` },
  { key: 'tasks', label: t('tasks'), num: true, cell: (/** @type {Executor} */ e) => number(e.tasks) },
  { key: 'cpus', label: t('cpus'), num: true, cell: (/** @type {Executor} */ e) => number(e.cpus) },
  { key: 'memory', label: t('memory'), num: true, cell: (/** @type {Executor} */ e) => memory(e.memoryMB) },
  { key: 'report', label: t('report'), cell: (/** @type {Executor} */ e) => html`<${Time} at=${e.lastReport} />` },
  { key: 'generation', label: t('generation'), num: true, cell: (/** @type {Executor} */ e) => number(e.generation) },
  { key: 'note', label: t('note'), cell: noteOf },
  { key: 'id', label: 'ID', cell: (/** @type {Executor} */ e) => html`<span class="mono muted">${e.id}</span>`, title: (/** @type {Executor} */ e) => e.id },
]} />`

/**
 * StartFailures shows the apps that are not launched on agents on which they failed to start.
 * @param {{rows: {app: string, agent: string, hostname: string, host: string, failures: number, notBefore: string, cause: string}[]}} props
 */
export const StartFailures = ({ rows }) => html`<${Table} label=${t('starts')} rows=${rows} id=${(/** @type {any} */ r) => `${r.app} ${r.agent} ${r.host}`} columns=${[
  { key: 'app', label: t('app'), cell: (/** @type {any} */ r) => html`<a href=${link.app(r.app)}>${r.app}</a>`, title: (/** @type {any} */ r) => r.app },
  { key: 'agent', label: t('agent'), cell: (/** @type {any} */ r) => (r.agent ? html`<${Name} id=${r.agent} hostname=${r.hostname} />` : t('everywhere', { host: r.host })) },
  { key: 'failures', label: t('failures'), num: true, cell: (/** @type {any} */ r) => number(r.failures) },
  { key: 'notBefore', label: t('notBefore'), cell: (/** @type {any} */ r) => html`<${Time} at=${r.notBefore} />` },
  { key: 'cause', label: t('cause'), cell: startCauseOf },
]} />`
