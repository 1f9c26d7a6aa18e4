// The form to register, copy or edit a job.
import { html } from '../lib/html.js'
import { withQuery } from '../lib/api.js'
import { duration, number } from '../lib/format.js'
import { limits } from '../lib/limits.js'
import { notesOf } from '../lib/reasons.js'
import { useResource } from '../lib/resource.js'
import { useQuery } from '../lib/router.js'
import { may, mayAny } from '../lib/session.js'
import { useSignal } from '../lib/signal.js'
import { language } from '../lib/store.js'
import { texts } from '../lib/texts.js'
import { serverZone } from '../lib/zone.js'
import { Page } from '../frame/page.js'
import { CronSays } from '../pieces/cron.js'
import { DocForm } from '../pieces/docform.js'
import { Entries } from '../pieces/entries.js'
import { FamilyFields, handlerFamily, hasField, runFamily } from '../pieces/families.js'
import { Check, Choice, Group, NumberField, Text, useForm } from '../pieces/field.js'
import { documentOf } from '../pieces/jobtable.js'
import { Loaded, NotAllowed } from '../pieces/notice.js'
import { Placement } from '../pieces/placement.js'
import { link } from '../routes.js'

const t = texts(
  {
    jobs: 'Jobs', register: 'Register a job', registerDo: 'Register', edit: 'Edit {name}', what: 'General', when: 'Schedule', where: 'Resources', shards: 'Shards and parameters', fails: 'Failure handling', env: 'Environment and properties',
    jobName: 'Name', jobNameHelp: '1 to {n} letters, digits, “.”, “_” or “-”. It never changes.', appName: 'App', appHelp: 'The published package that the job runs.', publish: 'Publish one', description: 'Description', descriptionHelp: 'What it does, and who owns it.',
    type: 'Type', typeHelp: 'A transient job takes resources only while it runs. A daemon keeps them, and its executors fire it by their own clocks.', TRANSIENT: 'Transient', DAEMON: 'Daemon',
    runs: 'It runs', runsHelp: 'Set by properties in props.', byApp: 'the app’s script', byScript: 'another command of the package', byHttp: 'an HTTP request, and no package',
    cron: 'Cron', cronHelp: 'Seconds, minutes, hours, day of month, month, day of week, and an optional year. Empty: on trigger only.', timeZone: 'Time zone', timeZoneHelp: 'For the cron, such as Europe/Berlin.', serverZone: 'the server’s', serverZoneIs: 'the server’s, {zone}',
    misfire: 'Queue fires that find it running (misfire)', misfireHelp: 'Up to {n} fires wait and then run one after the other, including fires missed while no server led. Without it they are dropped, except missed fires that are at most {late} late.',
    cpu: 'CPU per shard', cpuLimit: 'CPU limit', cpuLimitHelp: 'On Kubernetes: the most that a shard may use. Some quotas require it.', memory: 'Memory per shard', memoryUnit: 'MB', concurrency: 'Shards at once', concurrencyHelp: 'How many of a daemon’s shards an executor runs at the same time.', unbounded: 'no limit', concurrencyCPU: 'twice its number of CPUs', concurrencyOne: 'one',
    total: 'Shards', totalHelp: '1 to {n}. They start together, each on any agent with free resources.', parameter: 'Job parameter', parameterHelp: 'Passed to every shard.', itemParameters: 'Shard parameters', itemHelp: 'Passed to single shards in addition, such as 0=Beijing,1=Shanghai.',
    failover: 'Run lost shards again (failover)', failoverHelp: 'At once if the executor was lost. If the agent is silent, the shard runs on another agent after the time below. Without failover the run fails.', retries: 'Retries', retriesHelp: 'How often a shard that failed or timed out is run again, at most {n} times.', backoff: 'Retry delay', backoffHelp: 'Doubles after each failure, up to {most}. A longer delay stays the same.', seconds: 's',
    timeout: 'Timeout', timeoutHelp: 'A shard that runs for longer is killed, and counts as timed out.', none: 'none', grace: 'Kill grace period', graceHelp: 'Between SIGTERM and SIGKILL.', exclusive: 'Exclusive', exclusiveHelp: 'No two attempts of a shard ever run at once, not even if an agent is cut off. Without a scheduler for longer than the lease, the shards are stopped.', lease: 'Lease', leaseHelp: 'How long an exclusive shard runs without an answer of a scheduler.', silent: 'Give up after silence', silentHelp: 'How long the agent of a shard may be silent before the shard is given up.', serverSilent: 'the server’s', keep: 'Keep directories of failures', keepHelp: 'How many working directories of failed and timed-out attempts stay on each agent; the reason says where.', serverKeep: 'the executors’ limit', serverGrace: 'the server’s', handler: 'Notify', handlerHelp: 'This affects notifications only: a failed run stays failed.',
    LOG: 'log only', THROW: 'log only (THROW)', IGNORE: 'no one', EMAIL: 'e-mail', WECHAT: 'WeChat', DINGTALK: 'DingTalk', WEBHOOK: 'webhook',
    envLabel: 'Variables', envHelp: 'Environment of the job’s processes. Secrets are never shown; files are read on the agent, in its secrets folder.', propsLabel: 'Custom properties', propsHelp: 'The job finds them in ELASTICJOB_PROPS.', notes: 'Good to know',
  },
  {
    jobs: '作业', register: '注册作业', registerDo: '注册', edit: '编辑 {name}', what: '基本信息', when: '调度', where: '资源', shards: '分片与参数', fails: '失败处理', env: '环境变量与属性',
    jobName: '名称', jobNameHelp: '1 至 {n} 个字母、数字、“.”、“_”或“-”，注册后不可更改。', appName: '应用', appHelp: '作业运行的已发布应用包。', publish: '发布应用', description: '描述', descriptionHelp: '写给人看：它做什么，由谁负责。',
    type: '类型', typeHelp: '瞬时作业仅在运行时占用资源；常驻作业一直占用，由执行器按各自的时钟触发。', TRANSIENT: '瞬时', DAEMON: '常驻',
    runs: '运行方式', runsHelp: '由 props 中的属性决定。', byApp: '应用的启动脚本', byScript: '应用包中的其他命令', byHttp: 'HTTP 请求，无需应用包',
    cron: 'Cron', cronHelp: '秒、分、时、日、月、星期，可加年。留空则仅手动触发。', timeZone: '时区', timeZoneHelp: 'cron 的时区，例如 Asia/Shanghai。', serverZone: '调度器时区', serverZoneIs: '调度器时区（{zone}）',
    misfire: '错过任务重执行', misfireHelp: '作业忙时到来的触发排队（最多 {n} 次），之后依次执行；没有主调度器期间错过的触发也一样。不开启则丢弃，但新的主调度器会补上迟到不超过{late}的触发。',
    cpu: '每个分片的 CPU', cpuLimit: 'CPU 上限', cpuLimitHelp: '仅 Kubernetes：一个分片最多可用的 CPU。有些配额要求设置它。', memory: '每个分片的内存', memoryUnit: 'MB', concurrency: '同时运行的分片', concurrencyHelp: '一个执行器同时运行常驻作业的多少个分片。', unbounded: '不限', concurrencyCPU: '其 CPU 数的两倍', concurrencyOne: '一个',
    total: '分片总数', totalHelp: '1 至 {n}。所有分片同时启动，各自位于有空间的 Agent 上。', parameter: '作业参数', parameterHelp: '每个分片都会得到。', itemParameters: '分片参数', itemHelp: '例如 0=北京,1=上海：各分片另外得到的参数。',
    failover: '失效转移', failoverHelp: '重新运行丢失的分片：执行器丢失时立即重新运行；Agent 失联时，超过下面的时间后在别处运行。不开启则分片丢失，本次执行失败。', retries: '重试次数', retriesHelp: '失败或超时的分片最多重新运行几次，上限 {n}。', backoff: '重试间隔', backoffHelp: '每次翻倍，上限 {most}（初始值更大时以初始值为上限）。', seconds: '秒',
    timeout: '超时', timeoutHelp: '分片的最长运行时间，超过即终止并记为超时。', none: '无', grace: '终止宽限期', graceHelp: 'SIGTERM 与 SIGKILL 之间的时间。', exclusive: '独占', exclusiveHelp: '同一分片绝不会重叠运行，即使 Agent 失联。调度器不可用的时间超过租约时，分片会被终止。', lease: '租约', leaseHelp: '独占分片在没有调度器应答时可以运行的时间。', silent: '失联放弃时间', silentHelp: '分片所在的 Agent 失联超过此时间后，放弃该分片。', serverSilent: '调度器设置', keep: '保留失败的工作目录', keepHelp: '每个 Agent 上保留多少个失败或超时尝试的工作目录；失败原因会说明位置。', serverKeep: '执行器的限制', serverGrace: '调度器设置', handler: '失败通知', handlerHelp: '只影响通知，不改变执行结果。',
    LOG: '仅写入日志', THROW: '仅写入日志（THROW）', IGNORE: '不通知', EMAIL: '邮件', WECHAT: '企业微信', DINGTALK: '钉钉', WEBHOOK: 'Webhook',
    envLabel: '环境变量', envHelp: '作业进程的环境变量。敏感值不向任何人显示；文件从 Agent 的 secrets 目录读取。', propsLabel: '自定义属性', propsHelp: '作业从 ELASTICJOB_PROPS 读取。', notes: '提示',
  },
)

/** @typedef {import('../lib/document.js').Doc} Doc */

const first = { jobName: '', appName: '', jobExecutionType: 'TRANSIENT', cron: '', shardingTotalCount: 1, cpuCount: 0.1, memoryMB: 64 }

/** @param {{job?: string}} props */
export default function JobForm({ job }) {
  const [query] = useQuery()
  const from = job ?? query.from
  const stored = useResource(from ? documentOf(from) : null, { on: (c) => job !== undefined && c.jobs.includes(job), every: job ? 5000 : undefined })
  const title = job ? t('edit', { name: job }) : t('register')
  const crumbs = [{ to: '/jobs', text: t('jobs') }, ...(job ? [{ to: link.job(job), text: job }] : [])]
  const begin = job ? stored.data : from ? stored.data && copyOf(stored.data) : { ...first, appName: query.app ?? '' }
  const allowed = job && stored.data ? may('admin', stored.data.appName) : mayAny('admin')
  return html`<${Page} title=${title} crumbs=${crumbs}>
    ${!allowed ? html`<${NotAllowed} />` : !begin ? html`<${Loaded} of=${stored}>${() => null}</${Loaded}>` : html`<${DocForm} key=${from} first=${begin} stored=${job ? stored : undefined} nameField="jobName" saveLabel=${t('registerDo')} back=${job ? link.job(job) : '/jobs'} to=${link.job}
      request=${request} check=${check} side=${(/** @type {Doc} */ doc, /** @type {any} */ checked) => html`<${Placement} checked=${checked} />`}>${(/** @type {Doc} */ doc, /** @type {any} */ checked) => html`<${Fields} doc=${doc} checked=${checked} update=${job !== undefined} />`}</${DocForm}>`}
  </${Page}>`
}

/** @param {Doc} doc the document of a copied job; the copy has no name yet, and does not get the secrets */
const copyOf = (doc) => ({ ...doc, jobName: '' })

/** @param {Doc} body @param {boolean} update @returns {import('../lib/api.js').Request} */
const request = (body, update) => (update ? { method: 'PUT', path: '/api/job/update', body } : { method: 'POST', path: '/api/job/register', body })

/** @param {Doc} body @param {boolean} update @returns {import('../lib/api.js').Request} */
const check = (body, update) => ({ method: 'POST', path: withQuery('/api/job/check', { update, language: language.get() }), body })

/** @param {{doc: Doc, checked: any, update: boolean}} props */
function Fields({ doc, checked, update }) {
  const zone = useSignal(serverZone)
  const apps = useResource('/api/app/list', { on: (c) => c.apps.length > 0 })
  const handler = handlerFamily(doc.jobErrorHandlerType)
  const run = runFamily(doc.props)
  const options = (/** @type {readonly any[]} */ words) => words.map((w) => ({ value: w === 'LOG' ? '' : w, label: t(w) }))
  const own = (/** @type {string} */ name) => !hasField(run, name) && !hasField(handler, name)
  return html`
    ${checked?.notes.length > 0 && html`<div class="notice warning" role="status"><h2>${t('notes')}</h2><ul>${notesOf(checked).map((n) => html`<li key=${n}>${n}</li>`)}</ul></div>`}
    <${Group} title=${t('what')}>
      <${Text} needed name="jobName" keep label=${t('jobName')} help=${t('jobNameHelp', { n: limits.name })} readOnly=${update} />
      <${Text} needed name="appName" keep label=${t('appName')} help=${html`${t('appHelp')} <a href="/apps/new">${t('publish')}</a>`} list=${(apps.data ?? []).map((/** @type {any} */ a) => a.appName)} />
      <${Choice} name="jobExecutionType" label=${t('type')} help=${t('typeHelp')} options=${options(['TRANSIENT', 'DAEMON'])} />
      <${HowItRuns} family=${run} />
      <${FamilyFields} prefix=${run} />
      <${Text} wide name="description" label=${t('description')} help=${t('descriptionHelp')} />
    </${Group}>
    <${Group} title=${t('when')}>
      <${Text} name="cron" mono label=${t('cron')} help=${t('cronHelp')} placeholder="0 0 3 * * ?" />
      <${Text} name="timeZone" label=${t('timeZone')} help=${t('timeZoneHelp')} preset=${zone ? t('serverZoneIs', { zone }) : t('serverZone')} list=${Intl.supportedValuesOf('timeZone')} />
      ${doc.cron && html`<div class="over"><${CronSays} cron=${String(doc.cron)} timeZone=${String(doc.timeZone ?? '')} /></div>`}
      <div class="over"><${Check} name="misfire" label=${t('misfire')} help=${t('misfireHelp', { n: limits.queuedFires, late: duration(limits.late) })} /></div>
    </${Group}>
    <${Group} title=${t('where')}>
      <${NumberField} needed name="cpuCount" label=${t('cpu')} /><${NumberField} name="cpuLimit" label=${t('cpuLimit')} help=${t('cpuLimitHelp')} preset=${t('none')} /><${NumberField} needed name="memoryMB" label=${t('memory')} unit=${t('memoryUnit')} />
      ${(doc.jobExecutionType === 'DAEMON' || doc.jobExecutorServiceHandlerType) && html`<${Choice} name="jobExecutorServiceHandlerType" label=${t('concurrency')} help=${t('concurrencyHelp')} options=${[{ value: '', label: t('unbounded') }, { value: 'CPU', label: t('concurrencyCPU') }, { value: 'SINGLE_THREAD', label: t('concurrencyOne') }]} />`}
    </${Group}>
    <${Group} title=${t('shards')}>
      <${NumberField} needed name="shardingTotalCount" label=${t('total')} help=${t('totalHelp', { n: number(limits.shards) })} />
      <${Text} name="jobParameter" label=${t('parameter')} help=${t('parameterHelp')} />
      <${Text} wide rows=${2} name="shardingItemParameters" label=${t('itemParameters')} help=${t('itemHelp')} />
    </${Group}>
    <${Group} title=${t('fails')}>
      <div class="over"><${Check} name="failover" label=${t('failover')} help=${t('failoverHelp')} /></div>
      <${NumberField} name="maxRetries" label=${t('retries')} help=${t('retriesHelp', { n: limits.retries })} preset=${0} /><${NumberField} name="retryBackoffSeconds" label=${t('backoff')} help=${t('backoffHelp', { most: duration(limits.backoffMost) })} preset=${limits.backoff / 1000} unit=${t('seconds')} />
      <${NumberField} name="timeoutSeconds" label=${t('timeout')} help=${t('timeoutHelp')} preset=${t('none')} unit=${t('seconds')} /><${NumberField} name="killGraceSeconds" label=${t('grace')} help=${t('graceHelp')} preset=${t('serverGrace')} unit=${t('seconds')} />
      <div class="over"><${Check} name="exclusive" label=${t('exclusive')} help=${t('exclusiveHelp')} /></div>
      <${NumberField} name="leaseSeconds" label=${t('lease')} help=${t('leaseHelp')} preset=${60} unit=${t('seconds')} />
      <${NumberField} name="unreachableSeconds" label=${t('silent')} help=${t('silentHelp')} preset=${t('serverSilent')} unit=${t('seconds')} /><${NumberField} name="keepFailed" label=${t('keep')} help=${t('keepHelp')} preset=${t('serverKeep')} />
      <${Choice} name="jobErrorHandlerType" label=${t('handler')} help=${t('handlerHelp')} options=${options(['LOG', 'THROW', 'IGNORE', 'EMAIL', 'WECHAT', 'DINGTALK', 'WEBHOOK'])} />
      <${FamilyFields} prefix=${handler} />
    </${Group}>
    <${Group} title=${t('env')}>
      <${Entries} field="env" label=${t('envLabel')} help=${t('envHelp')} kinds=${['text', 'secret', 'fromFile', 'fromEnv']} />
      <${Entries} field="props" label=${t('propsLabel')} help=${t('propsHelp')} kinds=${['text', 'secret']} mine=${own} />
    </${Group}>`
}

/**
 * HowItRuns chooses the family of properties that says what the job runs. A change removes the properties of the previous family.
 * @param {{family: string}} props
 */
function HowItRuns({ family }) {
  const form = useForm()
  const choose = (/** @type {string} */ next) => {
    const kept = Object.fromEntries(Object.entries(form.doc.props ?? {}).filter(([k]) => !/^(script|http)\./.test(k)))
    const added = next === 'script.' ? { 'script.command.line': '' } : next === 'http.' ? { 'http.url': '', 'http.method': 'GET' } : {}
    const props = { ...kept, ...added }
    form.set('props', Object.keys(props).length ? props : undefined)
  }
  return html`<div class="field"><label for="runs">${t('runs')}</label><select id="runs" class="input" value=${family} disabled=${form.disabled} onChange=${(/** @type {any} */ e) => choose(e.target.value)}>
    <option value="">${t('byApp')}</option><option value="script.">${t('byScript')}</option><option value="http.">${t('byHttp')}</option></select><div class="help">${t('runsHelp')}</div></div>`
}
