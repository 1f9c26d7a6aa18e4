// The two searches of the history, as in the original.
import { html, useState } from '../lib/html.js'
import { withQuery } from '../lib/api.js'
import { sourceWord } from '../lib/codewords.js'
import { duration } from '../lib/format.js'
import { causeOf } from '../lib/reasons.js'
import { useResource } from '../lib/resource.js'
import { setQuery } from '../lib/router.js'
import { texts } from '../lib/texts.js'
import { link } from '../routes.js'
import { Agent } from './agent.js'
import { Dialog } from './dialog.js'
import { Filters } from './filters.js'
import { Empty, Failure, Loaded } from './notice.js'
import { State, stateWord } from './state.js'
import { Pager, Table } from './table.js'
import { Time } from './time.js'

const t = texts(
  {
    search: 'Search the history', job: 'Job', task: 'Task', ip: 'IP address', result: 'Result', finished: 'Finished', failed: 'Ended otherwise', execution: 'Execution', from: 'From', to: 'Until', state: 'State', item: 'Shard', source: 'Source', host: 'Host', started: 'Started', completed: 'Completed', lasted: 'Duration', cause: 'Failure cause', log: 'Output',
    agent: 'Agent', agentId: 'Agent ID', type: 'Type', time: 'Time', message: 'Message', none: 'No matching records', noneHelp: 'Records may be a moment late. Remove a filter, or choose a longer time.', noHistory: 'There is no history', noHistoryHelp: 'The scheduler records runs in a database: start it with --db and the address of a MySQL or MariaDB. With --local it has its own unless that is turned off.', attempt: 'attempt {n}',
    onward: 'Older rows', first: 'First page', perPage: 'Rows', runs: 'Shard runs', traces: 'State changes', whole: 'Show all of it', needJob: 'Enter a job: your role covers some apps only, so a search of the history needs one.',
  },
  {
    search: '搜索历史', job: '作业', task: '任务', ip: 'IP 地址', result: '结果', finished: '成功', failed: '未成功', execution: '执行记录', from: '从', to: '至', state: '状态', item: '分片', source: '来源', host: '主机', started: '开始时间', completed: '完成时间', lasted: '耗时', cause: '失败原因', log: '输出',
    agent: 'Agent', agentId: 'Agent ID', type: '类型', time: '时间', message: '说明', none: '没有符合条件的记录', noneHelp: '记录可能稍有延迟。请减少筛选条件或扩大时间范围。', noHistory: '没有历史记录', noHistoryHelp: '调度器将运行记录（事件追踪，原 event_trace_rdb_*）写入数据库：请用 --db 指定 MySQL 或 MariaDB 的地址启动。使用 --local 时默认自带数据库。', attempt: '第 {n} 次尝试',
    onward: '更早的记录', first: '第一页', perPage: '行数', runs: '分片运行', traces: '状态变化', whole: '显示全部', needJob: '请指定作业：您的角色仅限部分应用，搜索历史需要作业名。',
  },
)

const perPage = 50

/**
 * useSearch reads one page of a search, as the address says.
 * @param {string} path
 * @param {string[]} keys
 * @param {Record<string, string>} query
 */
function useSearch(path, keys, query) {
  const given = Object.fromEntries(keys.map((k) => [k, query[k]]))
  const page = query.after ? '' : Math.max(1, Number(query.page) || 1)
  const sorted = query.sort ? { key: query.sort, order: /** @type {'ASC' | 'DESC'} */ (query.order === 'DESC' ? 'DESC' : 'ASC') } : undefined
  return { page: Number(page), sorted, found: useResource(withQuery(path, { ...given, sort: query.sort, order: query.sort ? (query.order ?? 'ASC') : '', per_page: perPage, page, after: query.after }), { every: page === 1 && !query.after ? 5000 : undefined }) }
}

const onSort = (/** @type {string} */ sort, /** @type {string} */ order) => setQuery({ sort, order, page: '', after: '' })

/**
 * Found shows a page of the result, or says why there is none.
 * @param {{found: import('../lib/resource.js').Resource<any>, page: number, query: Record<string, string>, children: (rows: any[]) => any}} props
 */
function Found({ found, page, query, children }) {
  const error = /** @type {any} */ (found.error)
  if (found.data === undefined && error?.code === 'no_history') return html`<${Empty} title=${t('noHistory')}><p>${t('noHistoryHelp')}</p><pre class="curl">scheduler … --db 'USER@tcp(HOST:3306)/DATABASE'</pre></${Empty}>`
  if (found.data === undefined && error?.code === 'not_allowed') return html`<${Failure} error=${{ message: `${t('needJob')} ${error.message}` }} />`
  return html`<${Loaded} of=${found}>${(/** @type {{rows: any[], total?: number, totalIsAtLeast?: boolean, next?: string}} */ data) => {
    const onward = data.next && (data.total === undefined || (data.total ?? 0) > perPage)
    return html`${data.rows.length === 0 ? html`<${Empty} title=${t('none')}><p>${t('noneHelp')}</p></${Empty}>` : children(data.rows)}
      <div class="row" style=${{ justifyContent: 'flex-end' }}>
        ${data.total !== undefined && html`<${Pager} page=${page} perPage=${perPage} total=${data.total} atLeast=${data.totalIsAtLeast} onPage=${(/** @type {number} */ p) => setQuery({ page: p > 1 ? p : '', after: '' }, { push: true })} />`}
        ${query.after && html`<button type="button" class="button small" onClick=${() => setQuery({ after: '', page: '' }, { push: true })}>${t('first')}</button>`}
        ${onward && (data.total === undefined || data.totalIsAtLeast) && html`<button type="button" class="button small" onClick=${() => setQuery({ after: data.next, page: '' }, { push: true })}>${t('onward')}</button>`}
      </div>`
  }}</${Loaded}>`
}

/** @param {{query: Record<string, string>}} props */
export function Runs({ query }) {
  const keys = ['jobName', 'taskId', 'executionId', 'ip', 'isSuccess', 'startTime', 'endTime']
  const { found, page, sorted } = useSearch('/api/job/events/executions', keys, query)
  return html`<${Filters} label=${t('search')} query=${query} of=${[
      { key: 'jobName', label: t('job') }, { key: 'isSuccess', label: t('result'), options: [{ value: 'true', text: t('finished') }, { value: 'false', text: t('failed') }] }, { key: 'startTime', label: t('from'), time: true }, { key: 'endTime', label: t('to'), time: true },
      { key: 'executionId', label: t('execution'), rare: true }, { key: 'taskId', label: t('task'), rare: true }, { key: 'ip', label: t('ip'), rare: true },
    ]} />
    <${Found} found=${found} page=${page} query=${query}>${(/** @type {any[]} */ rows) => html`<${Table} label=${t('runs')} rows=${rows} id=${(/** @type {any} */ r) => r.id} to=${(/** @type {any} */ r) => link.execution(r.executionId)} sorted=${sorted} onSort=${onSort} gather columns=${[
      { key: 'jobName', label: t('job'), sort: true, cell: (/** @type {any} */ r) => html`<a href=${link.job(r.jobName)}>${r.jobName}</a>`, title: (/** @type {any} */ r) => r.jobName },
      { key: 'item', label: t('item'), num: true, cell: (/** @type {any} */ r) => r.shardingItem },
      { key: 'isSuccess', label: t('result'), sort: true, cell: (/** @type {any} */ r) => html`<${State} of=${r.state ?? (r.success === null ? 'RUNNING' : r.success ? 'FINISHED' : 'FAILED')} />${r.attempt > 1 && html` <span class="muted small">${t('attempt', { n: r.attempt })}</span>`}` },
      { key: 'startTime', label: t('started'), sort: true, cell: (/** @type {any} */ r) => html`<${Time} at=${r.startTime} exact />` },
      { key: 'completeTime', label: t('completed'), sort: true, cell: (/** @type {any} */ r) => html`<${Time} at=${r.completeTime} exact />` },
      { key: 'lasted', label: t('lasted'), num: true, cell: (/** @type {any} */ r) => duration(r.durationMillis) },
      { key: 'cause', label: t('cause'), cell: (/** @type {any} */ r) => html`<${Cause} text=${causeOf(r) ?? ''} of=${r.jobName} />`, title: (/** @type {any} */ r) => causeOf(r) ?? undefined },
      { key: 'log', label: t('log'), cell: (/** @type {any} */ r) => html`<a href=${link.log(r.taskId)}>${t('log')}</a>` },
      { key: 'source', label: t('source'), cell: (/** @type {any} */ r) => sourceWord(r.source ?? '') },
      { key: 'execution', label: t('execution'), cell: (/** @type {any} */ r) => r.executionId && html`<a href=${link.execution(r.executionId)}>${r.executionId}</a>`, title: (/** @type {any} */ r) => r.executionId },
      { key: 'host', label: t('host'), cell: (/** @type {any} */ r) => r.hostname },
      { key: 'ip', label: t('ip'), sort: true, cell: (/** @type {any} */ r) => r.ip },
      { key: 'taskId', label: t('task'), sort: true, cell: (/** @type {any} */ r) => html`<span class="mono muted">${r.taskId}</span>`, title: (/** @type {any} */ r) => r.taskId },
    ]} />`}</${Found}>`
}

const taskStates = ['TASK_STAGING', 'TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED', 'TASK_FAILED', 'TASK_KILLED', 'TASK_KILLING', 'TASK_ERROR', 'TASK_LOST', 'TASK_DROPPED', 'TASK_UNREACHABLE', 'TASK_GONE', 'TASK_GONE_BY_OPERATOR', 'TASK_UNKNOWN']

/** @param {{query: Record<string, string>}} props */
export function Traces({ query }) {
  const keys = ['jobName', 'taskId', 'executionId', 'slaveId', 'source', 'executionType', 'state', 'startTime', 'endTime']
  const { found, page, sorted } = useSearch('/api/job/events/statusTraces', keys, query)
  const options = (/** @type {string[]} */ of) => of.map((value) => ({ value, text: sourceWord(value) }))
  return html`<${Filters} label=${t('search')} query=${query} of=${[
      { key: 'jobName', label: t('job') }, { key: 'state', label: t('state'), options: taskStates.map((value) => ({ value, text: stateWord(value) })) },
      { key: 'startTime', label: t('from'), time: true }, { key: 'endTime', label: t('to'), time: true },
      { key: 'executionId', label: t('execution'), rare: true }, { key: 'taskId', label: t('task'), rare: true }, { key: 'slaveId', label: t('agentId'), rare: true },
      { key: 'source', label: t('source'), options: options(['CLOUD_SCHEDULER', 'CLOUD_EXECUTOR']), rare: true }, { key: 'executionType', label: t('type'), options: options(['READY', 'FAILOVER']), rare: true },
    ]} />
    <${Found} found=${found} page=${page} query=${query}>${(/** @type {any[]} */ rows) => html`<${Table} label=${t('traces')} rows=${rows} id=${(/** @type {any} */ r) => r.id} sorted=${sorted} onSort=${onSort} gather columns=${[
      { key: 'jobName', label: t('job'), sort: true, cell: (/** @type {any} */ r) => html`<a href=${link.job(r.jobName)}>${r.jobName}</a>`, title: (/** @type {any} */ r) => r.jobName },
      { key: 'item', label: t('item'), num: true, cell: (/** @type {any} */ r) => r.shardingItems },
      { key: 'state', label: t('state'), sort: true, cell: (/** @type {any} */ r) => html`<${State} of=${r.state} />`, title: (/** @type {any} */ r) => r.state },
      { key: 'creationTime', label: t('time'), sort: true, cell: (/** @type {any} */ r) => html`<${Time} at=${r.creationTime} exact />` },
      { key: 'message', label: t('message'), cell: (/** @type {any} */ r) => html`<${Cause} text=${[r.reason, r.message].filter(Boolean).join(': ')} of=${r.jobName} />`, title: (/** @type {any} */ r) => r.message ?? undefined },
      { key: 'log', label: t('log'), cell: (/** @type {any} */ r) => html`<a href=${link.log(r.taskId)}>${t('log')}</a>` },
      { key: 'source', label: t('source'), sort: true, cell: (/** @type {any} */ r) => sourceWord(r.source ?? '') },
      { key: 'executionType', label: t('type'), sort: true, cell: (/** @type {any} */ r) => sourceWord(r.executionType ?? '') },
      { key: 'execution', label: t('execution'), cell: (/** @type {any} */ r) => r.executionId && html`<a href=${link.execution(r.executionId)}>${r.executionId}</a>`, title: (/** @type {any} */ r) => r.executionId },
      { key: 'slaveId', label: t('agent'), sort: true, cell: (/** @type {any} */ r) => html`<${Agent} id=${r.slaveId} />`, title: (/** @type {any} */ r) => r.slaveId },
      { key: 'taskId', label: t('task'), sort: true, cell: (/** @type {any} */ r) => html`<span class="mono muted">${r.taskId}</span>`, title: (/** @type {any} */ r) => r.taskId },
    ]} />`}</${Found}>`
}

/** @param {{text: string, of: string}} props */
function Cause({ text, of }) {
  const [open, setOpen] = useState(false)
  if (!text) return html`<span class="muted">–</span>`
  if (text.length < 40 && !text.includes('\n')) return text
  return html`<button type="button" class="link-button" title=${t('whole')} onClick=${() => setOpen(true)}>${text.split('\n')[0].slice(0, 60)} …</button>
    ${open && html`<${Dialog} title=${`${of}: ${t('cause')}`} wide onClose=${() => setOpen(false)}><pre class="cause" tabindex="0">${text}</pre></${Dialog}>`}`
}
