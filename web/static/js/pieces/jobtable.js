// The table of jobs, of all or of one app.
import { html, useState } from '../lib/html.js'
import { seg } from '../lib/api.js'
import { duration, number } from '../lib/format.js'
import { reasonOf, waitOf } from '../lib/reasons.js'
import { may } from '../lib/session.js'
import { useSignal } from '../lib/signal.js'
import { remembered } from '../lib/store.js'
import { texts } from '../lib/texts.js'
import { link } from '../routes.js'
import { Confirm, perform, useBusy } from './act.js'
import { Icon } from './icon.js'
import { jobAct, jobActNames, mayDo } from './jobacts.js'
import { Menu, Popover } from './menu.js'
import { Runs } from './runs.js'
import { State, stateWord } from './state.js'
import { Table } from './table.js'
import { Since, Time } from './time.js'

const t = texts(
  {
    name: 'Job', app: 'App', state: 'State', runs: 'Last runs', cron: 'Cron', nextFire: 'Next fire', lastRun: 'Last run', duration: 'Duration', shards: 'Shards', failures: 'Failed in a row', type: 'Type', description: 'Description',
    columns: 'Columns', label: 'Jobs', more: 'More for {name}', edit: 'Edit', copy: 'Copy', waits: 'waits for {what}', runsNow: '{n|shard runs|shards run}', onTrigger: 'on trigger', failuresShort: 'Failures', TRANSIENT: 'Transient', DAEMON: 'Daemon',
  },
  {
    name: '作业', app: '应用', state: '状态', runs: '最近执行', cron: 'Cron', nextFire: '下次触发', lastRun: '上次执行', duration: '耗时', shards: '分片', failures: '连续失败', type: '类型', description: '描述',
    columns: '列', label: '作业', more: '{name} 的更多操作', edit: '编辑', copy: '复制', waits: '等待 {what}', runsNow: '{n} 个分片正在运行', onTrigger: '手动触发', failuresShort: '连续失败', TRANSIENT: '瞬时', DAEMON: '常驻',
  },
)

/** @typedef {import('./runs.js').Run} Run */
/**
 * JobRow is a row of GET /api/jobs.
 * @typedef {object} JobRow
 * @property {string} jobName
 * @property {string} appName
 * @property {string} jobExecutionType
 * @property {string} cron
 * @property {string} timeZone
 * @property {number} shardingTotalCount
 * @property {string} description
 * @property {string} state
 * @property {string | null} nextFire
 * @property {number} running
 * @property {number} waiting
 * @property {string | null} waitingSince
 * @property {string} waitingFor
 * @property {(Run & {completeTime: string | null, reason: string}) | null} lastRun
 * @property {number} failures
 * @property {Run[]} runs
 */
/** @typedef {{total: number, byState: Record<string, number>, rows: JobRow[]}} JobPage */

/** typeWord returns the name of an execution type. */
export const typeWord = (/** @type {string} */ type) => (type === 'TRANSIENT' || type === 'DAEMON' ? t(type) : type)

const hideable = /** @type {const} */ (['state', 'app', 'lastRun', 'runs', 'cron', 'nextFire', 'duration', 'shards', 'failures', 'type', 'description'])
/** @typedef {(typeof hideable)[number]} Hideable */

/** @type {(value: unknown) => value is Hideable[]} */
const isColumns = /** @type {any} */ ((/** @type {unknown} */ v) => Array.isArray(v) && v.every((k) => hideable.includes(k)))
// The columns that are hidden until the user chooses. The others, except for the description, fit on usual screens without scrolling
// sideways.
const hiddenAtFirst = /** @type {Hideable[]} */ (innerWidth < 1800 ? ['duration', 'shards', 'failures', 'type'] : ['type'])
const hidden = remembered('jobs.hidden', hiddenAtFirst, isColumns)

/** ColumnChoice is the button with which the user chooses the columns of all tables of jobs. */
export function ColumnChoice() {
  const off = useSignal(hidden)
  const toggle = (/** @type {Hideable} */ key) => hidden.set(off.includes(key) ? off.filter((k) => k !== key) : [...off, key])
  return html`<${Popover} label=${t('columns')} text=${html`${t('columns')} <${Icon} name="down" size=${12} />`}>${() =>
    hideable.map((key) => html`<label key=${key}><input type="checkbox" checked=${!off.includes(key)} onChange=${() => toggle(key)} />${t(key)}</label>`)}</${Popover}>`
}

/** @param {JobRow} j */
function stateOf(j) {
  const why = j.waiting && j.waitingFor ? t('waits', { what: waitOf(j) }) : undefined
  const count = j.state === 'RUNNING' ? j.running : j.state === 'WAITING' ? j.waiting : undefined
  return html`<${State} of=${j.state} count=${count || undefined} title=${why} />${j.waitingSince && html` <span class="small muted"><${Since} at=${j.waitingSince} /></span>`}`
}

/** @type {import('./table.js').Column<JobRow>[]} */
const columns = [
  { key: 'name', label: '', sort: true, cell: (j) => html`<a class="short" href=${link.job(j.jobName)}>${j.jobName}</a>`, title: (j) => j.jobName },
  { key: 'state', label: '', sort: true, cell: stateOf, title: (j) => (j.waitingFor ? t('waits', { what: waitOf(j) }) : j.running ? t('runsNow', { n: j.running }) : stateWord(j.state)) },
  { key: 'app', label: '', sort: true, cell: (j) => html`<a class="short" href=${link.app(j.appName)}>${j.appName}</a>`, title: (j) => j.appName },
  {
    key: 'lastRun', label: '', sort: true, title: (j) => reasonOf(j.lastRun) || undefined,
    cell: (j) => (j.lastRun ? html`<a class="plain" href=${link.execution(j.lastRun.executionId)}><${State} of=${j.lastRun.state} bare /></a> <span class="small muted when"><${Time} at=${j.lastRun.completeTime ?? j.lastRun.fireTime} jobZone=${j.timeZone} /></span>` : html`<span class="muted">–</span>`),
  },
  { key: 'runs', label: '', cell: (j) => html`<${Runs} runs=${j.runs} jobZone=${j.timeZone} />` },
  { key: 'cron', label: '', cell: (j) => (j.cron ? html`<span class="mono">${j.cron}</span>` : html`<span class="muted">${t('onTrigger')}</span>`), title: (j) => (j.timeZone ? `${j.cron} (${j.timeZone})` : j.cron) },
  { key: 'nextFire', label: '', sort: true, cell: (j) => html`<span class="when"><${Time} at=${j.nextFire} jobZone=${j.timeZone} /></span>` },
  { key: 'duration', label: '', num: true, sort: true, cell: (j) => html`<span class="nowrap took">${duration(j.lastRun?.durationMillis)}</span>` },
  { key: 'shards', label: '', num: true, cell: (j) => number(j.shardingTotalCount) },
  { key: 'failures', label: '', num: true, sort: true, cell: (j) => (j.failures ? html`<strong class="bad">${number(j.failures)}</strong>` : html`<span class="muted">0</span>`) },
  { key: 'type', label: '', cell: (j) => typeWord(j.jobExecutionType) },
  { key: 'description', label: '', cell: (j) => j.description },
]

/**
 * JobTable shows jobs with the actions on each. `without` hides columns regardless of the user's choice.
 * @param {{rows: JobRow[], question: string, sorted?: {key: string, order: 'ASC' | 'DESC'}, onSort?: (key: string, order: 'ASC' | 'DESC') => void, selected?: Set<string>, onSelect?: (s: Set<string>) => void, onDone: () => void, without?: Hideable[]}} props
 */
export function JobTable({ rows, question, sorted, onSort, selected, onSelect, onDone, without = [] }) {
  const off = useSignal(hidden)
  const [asking, setAsking] = useState(/** @type {import('./act.js').Act | null} */ (null))
  const shown = columns.filter((c) => !off.includes(/** @type {Hideable} */ (c.key)) && !without.includes(/** @type {Hideable} */ (c.key)))
  return html`<${Table} label=${t('label')} rows=${rows} id=${(/** @type {JobRow} */ j) => j.jobName} to=${(/** @type {JobRow} */ j) => link.job(j.jobName)} gather question=${question}
      columns=${shown.map((c) => ({ ...c, label: t(/** @type {Hideable} */ (c.key === 'failures' ? 'failuresShort' : c.key)) }))}
      sorted=${sorted} onSort=${onSort} selected=${selected} onSelect=${onSelect} acts=${(/** @type {JobRow} */ j) => html`<${RowActs} job=${j} ask=${setAsking} onDone=${onDone} />`} />
    ${asking && html`<${Confirm} act=${{ ...asking, then: onDone }} onClose=${() => setAsking(null)} />`}`
}

const quickActs = ['trigger', 'pause', 'resume'] // have buttons; the others are in the menu

/** @param {{job: JobRow, ask: (act: import('./act.js').Act) => void, onDone: () => void}} props */
function RowActs({ job, ask, onDone }) {
  const [busy, run] = useBusy()
  const can = jobActNames.filter((name) => mayDo(job, name))
  const start = (/** @type {import('./jobacts.js').JobActName} */ name) => {
    const act = jobAct(job, name)
    if (act.confirm) ask(act)
    else void run(() => perform({ ...act, then: onDone }))
  }
  const quick = can.filter((name) => quickActs.includes(name))
  /** @type {import('./menu.js').Item[]} */
  const items = [
    ...(may('admin', job.appName) ? [{ label: t('edit'), icon: /** @type {const} */ ('edit'), to: link.editJob(job.jobName) }, { label: t('copy'), icon: /** @type {const} */ ('copy'), to: link.copyJob(job.jobName) }] : []),
    ...can.filter((name) => !quickActs.includes(name)).map((name) => {
      const { label, icon } = jobAct(job, name)
      return { label, icon, danger: name === 'delete', run: () => start(name) }
    }),
  ]
  return html`${busy && html`<span class="busy"></span>`}
    ${quick.map((name) => {
      const { label, icon } = jobAct(job, name)
      return html`<button key=${name} type="button" class="button icon small" title=${label} aria-label=${`${label}: ${job.jobName}`} disabled=${busy} onClick=${() => start(name)}><${Icon} name=${icon ?? 'play'} /></button>`
    })}
    ${items.length > 0 && html`<${Menu} label=${t('more', { name: job.jobName })} small items=${items} />`}`
}

/**
 * documentOf returns the path of a job's document.
 * @param {string} jobName
 */
export const documentOf = (jobName) => `/api/job/jobs/${seg(jobName)}`
