// Shows a job's settings.
import { html } from '../lib/html.js'
import { texts } from '../lib/texts.js'
import { Copy, Curl } from '../pieces/curl.js'
import { typeWord } from '../pieces/jobtable.js'
import { link } from '../routes.js'

const t = texts(
  {
    json: 'As JSON', curl: 'Registered by', hidden: 'hidden', empty: 'empty', none: 'not set', seconds: '{n} s', yes: 'yes', no: 'no', what: 'General', schedule: 'Schedule', resources: 'Resources', shards: 'Shards and parameters', failure: 'Failure handling', rest: 'More', value: '{value}', fromFile: 'from the file {file} on the agent', fromEnv: 'from the variable {name} on the agent', settings: 'Settings',
    secrets: 'Secrets are shown as ******; replace them by the real values to register the job elsewhere.',
    jobName: 'Name', appName: 'App', jobExecutionType: 'Type', cron: 'Cron', timeZone: 'Time zone', misfire: 'Queue fires that find it running (misfire)', shardingTotalCount: 'Shards', shardingItemParameters: 'Shard parameters', jobParameter: 'Job parameter', cpuCount: 'CPU per shard', cpuLimit: 'CPU limit', memoryMB: 'Memory per shard, MB', jobExecutorServiceHandlerType: 'Shards at once', failover: 'Run lost shards again (failover)', timeoutSeconds: 'Timeout', maxRetries: 'Retries', retryBackoffSeconds: 'Retry delay', killGraceSeconds: 'Kill grace period', unreachableSeconds: 'Given up after silence', exclusive: 'Never two attempts at once (exclusive)', leaseSeconds: 'Lease', keepFailed: 'Directories of failures kept', env: 'Variables', props: 'Properties', description: 'Description', jobErrorHandlerType: 'Notify',
  },
  {
    json: 'JSON', curl: '注册命令', hidden: '已隐藏', empty: '空', none: '未设置', seconds: '{n} 秒', yes: '是', no: '否', what: '基本信息', schedule: '调度', resources: '资源', shards: '分片与参数', failure: '失败处理', rest: '其他', value: '{value}', fromFile: '来自 Agent 上的文件 {file}', fromEnv: '来自 Agent 上的变量 {name}', settings: '配置',
    secrets: '敏感值显示为 ******；在别处注册作业时请填入真实值。',
    jobName: '名称', appName: '应用', jobExecutionType: '类型', cron: 'Cron', timeZone: '时区', misfire: '错过任务重执行', shardingTotalCount: '分片总数', shardingItemParameters: '分片参数', jobParameter: '作业参数', cpuCount: '每个分片的 CPU', cpuLimit: 'CPU 上限', memoryMB: '每个分片的内存（MB）', jobExecutorServiceHandlerType: '同时运行的分片', failover: '失效转移', timeoutSeconds: '超时', maxRetries: '重试次数', retryBackoffSeconds: '重试间隔', killGraceSeconds: '终止宽限期', unreachableSeconds: '失联放弃时间', exclusive: '独占（同一分片不会同时运行两次）', leaseSeconds: '租约', keepFailed: '保留的失败工作目录', env: '环境变量', props: '属性', description: '描述', jobErrorHandlerType: '失败通知',
  },
)

/** @type {[title: 'what' | 'schedule' | 'resources' | 'shards' | 'failure', fields: string[]][]} */
const groups = [
  ['what', ['jobName', 'description', 'appName', 'jobExecutionType']],
  ['schedule', ['cron', 'timeZone', 'misfire']],
  ['resources', ['cpuCount', 'cpuLimit', 'memoryMB', 'jobExecutorServiceHandlerType']],
  ['shards', ['shardingTotalCount', 'shardingItemParameters', 'jobParameter', 'env']],
  ['failure', ['failover', 'timeoutSeconds', 'maxRetries', 'retryBackoffSeconds', 'killGraceSeconds', 'unreachableSeconds', 'exclusive', 'leaseSeconds', 'keepFailed', 'jobErrorHandlerType']],
]
const named = new Set(groups.flatMap(([, fields]) => fields))

/** The fields that hold a number of seconds. */
const seconds = ['timeoutSeconds', 'retryBackoffSeconds', 'killGraceSeconds', 'unreachableSeconds', 'leaseSeconds']

/** @param {{doc: any}} props */
export function Settings({ doc }) {
  const rest = Object.keys(doc).filter((k) => !named.has(k) && !['disabled', 'state', 'notes'].includes(k))
  const shown = JSON.stringify(doc, null, 2)
  return html`<div class="columns">
      ${groups.map(([title, fields]) => html`<${Group} key=${title} title=${t(title)} doc=${doc} fields=${fields} />`)}
      ${rest.length > 0 && html`<${Group} title=${t('rest')} doc=${doc} fields=${rest} />`}
    </div>
    <section class="box"><div class="row spread"><h2>${t('json')}</h2><${Copy} text=${shown} /></div><pre class="document" tabindex="0">${shown}</pre></section>
    <section class="box"><h2>${t('curl')}</h2><${Curl} requests=${[{ method: 'POST', path: '/api/job/register', body: doc }]} />${shown.includes('******') && html`<p class="small muted">${t('secrets')}</p>`}</section>`
}

/** @param {{title: string, doc: any, fields: string[]}} props */
const Group = ({ title, doc, fields }) => html`<section class="box"><h2>${title}</h2><dl class="facts">
  ${fields.map((f) => html`<dt key=${f} title=${f}>${label(f)}</dt><dd><${Value} field=${f} value=${doc[f]} /></dd>`)}
</dl></section>`

/** @param {string} field */
const label = (field) => (named.has(field) || ['props', 'description'].includes(field) ? t(/** @type {any} */ (field)) : html`<code>${field}</code>`)

/** @param {{field: string, value: any}} props */
function Value({ field, value }) {
  if (value === undefined || value === null || (seconds.includes(field) && value === 0)) return html`<span class="muted">${t('none')}</span>`
  if (value === '') return html`<span class="muted">${t('empty')}</span>`
  if (field === 'appName') return html`<a href=${link.app(value)}>${value}</a>`
  if (field === 'jobExecutionType') return typeWord(value)
  if (typeof value === 'boolean') return t(value ? 'yes' : 'no')
  if (seconds.includes(field)) return t('seconds', { n: value })
  if (typeof value !== 'object') return ['cron', 'shardingItemParameters', 'jobParameter'].includes(field) ? html`<${Code} text=${String(value)} />` : String(value)
  const entries = Object.entries(value)
  if (entries.length === 0) return html`<span class="muted">${t('none')}</span>`
  return html`<ul>${entries.map(([k, v]) => html`<li key=${k}><code>${k}</code> <${Part} value=${v} /></li>`)}</ul>`
}

/** @param {{value: any}} props */
function Part({ value }) {
  if (value === '******' || value?.secret) return html`<span class="muted">${t('hidden')}</span>`
  if (value?.fromFile) return html`<span class="muted">${t('fromFile', { file: value.fromFile })}</span>`
  if (value?.fromEnv) return html`<span class="muted">${t('fromEnv', { name: value.fromEnv })}</span>`
  return html`<${Code} text=${typeof value === 'string' ? value : JSON.stringify(value)} />`
}

/**
 * Code shows a text of a document. A long text, which may have hundreds of kilobytes, scrolls in a box of its own.
 * @param {{text: string}} props
 */
const Code = ({ text }) => (text.length > 1000 ? html`<pre class="document" tabindex="0">${text}</pre>` : html`<code>${text}</code>`)
