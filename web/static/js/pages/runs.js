// A list of executions, of all jobs or of one.
import { html, useEffect, useState } from '../lib/html.js'
import { bodyOf, get, send, withQuery } from '../lib/api.js'
import { sourceWord } from '../lib/codewords.js'
import { duration, moment } from '../lib/format.js'
import { reasonOf } from '../lib/reasons.js'
import { useResource } from '../lib/resource.js'
import { texts } from '../lib/texts.js'
import { useZone } from '../lib/zone.js'
import { useBusy } from '../pieces/act.js'
import { Empty, Failure, Loaded } from '../pieces/notice.js'
import { State, stateWord } from '../pieces/state.js'
import { Table } from '../pieces/table.js'
import { Since, Time } from '../pieces/time.js'
import { link } from '../routes.js'

const t = texts(
  {
    fired: 'Fired', job: 'Job', state: 'State', by: 'By', took: 'Duration', shards: 'Shards', reason: 'Reason', label: 'Executions', older: 'Show older executions', states: 'States', since: 'Fired', any: 'at any time', hour: 'in the last hour', day: 'in the last 24 hours', week: 'in the last 7 days',
    none: 'No executions', noneHelp: 'Each fire and each trigger of a job starts an execution, which appears here.', noneFound: 'No matching executions', all: 'Show all', oneJob: 'Job', oneJobHelp: 'Name of a job', clear: 'All jobs', go: 'Show', open: 'Open',
  },
  {
    fired: '触发时间', job: '作业', state: '状态', by: '来源', took: '耗时', shards: '分片', reason: '原因', label: '执行记录', older: '显示更早的执行记录', states: '状态', since: '触发于', any: '任意时间', hour: '最近一小时', day: '最近 24 小时', week: '最近 7 天',
    none: '还没有执行记录', noneHelp: '作业的每次触发都会产生一条执行记录，并显示在这里。', noneFound: '没有符合条件的执行记录', all: '显示全部', oneJob: '作业', oneJobHelp: '作业名称', clear: '全部作业', go: '显示', open: '打开',
  },
)

/** @typedef {{rows: any[], next: string, warning: string}} Part */

/**
 * part reads one part of a list, and the address of its older rows.
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<Part>}
 */
async function part(path, signal) {
  const answer = await send({ method: 'GET', path }, { signal })
  return { rows: await bodyOf(answer, 'json', signal), next: /^<([^>]+)>; rel="next"/.exec(answer.headers.get('Link') ?? '')?.[1] ?? '', warning: /"(.*)"/.exec(answer.headers.get('Warning') ?? '')?.[1] ?? '' }
}

const states = ['WAITING', 'RUNNING', 'FINISHED', 'FAILED', 'KILLED']
const spans = /** @type {const} */ ([['1h', 'hour'], ['24h', 'day'], ['168h', 'week']])

/**
 * Runs shows the list with its filters, which are in the address.
 * @param {{job?: string, jobZone?: string, query: Record<string, string>, setQuery: (change: Record<string, string>) => void}} props
 */
export function Runs({ job, jobZone, query, setQuery }) {
  const path = withQuery(job === undefined ? '/api/executions' : `/api/job/${encodeURIComponent(job)}/executions`, {
    job: job === undefined ? query.job : '', state: query.state, since: query.since, limit: 100,
  })
  const chosen = new Set((query.state ?? '').split(',').filter(Boolean))
  const toggle = (/** @type {string} */ s) => {
    if (!chosen.delete(s)) chosen.add(s)
    setQuery({ state: states.filter((x) => chosen.has(x)).join() })
  }
  const filtered = chosen.size > 0 || query.since || query.job
  return html`<div class="chips">
      <div class="chips" role="group" aria-label=${t('states')}>${states.map((s) => html`<button key=${s} type="button" class="chip" aria-pressed=${chosen.has(s)} onClick=${() => toggle(s)}><${State} of=${s} bare /></button>`)}</div>
      <label class="row"><span class="small muted">${t('since')}</span><select class="input narrow" value=${query.since ?? ''} onChange=${(/** @type {any} */ e) => setQuery({ since: e.target.value })}>
        <option value="">${t('any')}</option>${spans.map(([value, word]) => html`<option key=${value} value=${value}>${t(word)}</option>`)}
        ${query.since && !spans.some(([v]) => v === query.since) && html`<option value=${query.since}>${query.since}</option>`}
      </select></label>
      ${job === undefined && html`<${OneJob} job=${query.job ?? ''} onJob=${(/** @type {string} */ name) => setQuery({ job: name })} />`}
    </div>
    <${List} key=${path} path=${path} job=${job} jobZone=${jobZone} filtered=${Boolean(filtered)} onAll=${() => setQuery({ state: '', since: '', job: '' })} />`
}

/** @param {{job: string, onJob: (job: string) => void}} props */
function OneJob({ job, onJob }) {
  const [typed, setTyped] = useState(job)
  useEffect(() => setTyped(job), [job])
  const found = useResource(typed && typed !== job ? withQuery('/api/jobs', { search: typed, per_page: 10 }) : null)
  return html`<form class="row" onSubmit=${(/** @type {Event} */ e) => (e.preventDefault(), onJob(typed.trim()))}>
    <input class="input narrow" type="search" list="job-names" aria-label=${t('oneJobHelp')} placeholder=${t('oneJobHelp')} value=${typed} maxlength="100"
      onInput=${(/** @type {any} */ e) => (setTyped(e.target.value), e.target.value === '' && job && onJob(''))} onChange=${(/** @type {any} */ e) => onJob(e.target.value.trim())} />
    <datalist id="job-names">${found.data?.rows?.map((/** @type {any} */ r) => html`<option key=${r.jobName} value=${r.jobName}></option>`)}</datalist>
  </form>`
}

/** @param {{path: string, job?: string, jobZone?: string, filtered: boolean, onAll: () => void}} props */
function List({ path, job, jobZone, filtered, onAll }) {
  const first = useResource(path, { read: part, on: (c) => (job === undefined ? c.executions.length > 0 : c.jobs.includes(job) || c.executions.some((id) => id.startsWith(`${job}@`))) })
  const [older, setOlder] = useState(/** @type {Part[]} */ ([]))
  const [error, setError] = useState(/** @type {any} */ (null))
  const [busy, run] = useBusy()
  const more = (/** @type {string} */ next) => run(async () => {
    try {
      setOlder([...older, await part(next)])
      setError(null)
    } catch (e) {
      setError(e)
    }
  })
  return html`<${Loaded} of=${first}>${(/** @type {Part} */ newest) => {
    const known = new Set()
    const rows = [newest, ...older].flatMap((p) => p.rows).filter((r) => !known.has(r.executionId) && known.add(r.executionId))
    const next = (older.at(-1) ?? newest).next
    if (rows.length === 0) return filtered
      ? html`<${Empty} title=${t('noneFound')}><button type="button" class="button" onClick=${onAll}>${t('all')}</button></${Empty}>`
      : html`<${Empty} title=${t('none')}><p>${t('noneHelp')}</p></${Empty}>`
    return html`${newest.warning && html`<p class="muted small" role="note">${newest.warning}</p>`}
      <${Rows} rows=${rows} job=${job} jobZone=${jobZone} />
      ${error && html`<${Failure} error=${error} again=${() => more(next)} />`}
      ${next && html`<div><button type="button" class="button" disabled=${busy} onClick=${() => more(next)}>${busy && html`<span class="busy"></span>`}${t('older')}</button></div>`}`
  }}</${Loaded}>`
}

/** @param {{rows: any[], job?: string, jobZone?: string}} props */
function Rows({ rows, job, jobZone }) {
  const zone = useZone(jobZone)
  const fired = (/** @type {any} */ r) => moment(r.fireTime, zone, { millis: r.source !== 'NORMAL_TRIGGER' })
  return html`<${Table} label=${t('label')} rows=${rows} id=${(/** @type {any} */ r) => r.executionId} to=${(/** @type {any} */ r) => link.execution(r.executionId)} gather columns=${[
    ...(job === undefined ? [{ key: 'job', label: t('job'), cell: (/** @type {any} */ r) => html`<a href=${link.job(r.jobName)}>${r.jobName}</a>`, title: (/** @type {any} */ r) => r.jobName }] : []),
    { key: 'state', label: t('state'), cell: (/** @type {any} */ r) => html`<${State} of=${r.state} />` },
    { key: 'fired', label: t('fired'), cell: (/** @type {any} */ r) => html`<a class="nowrap" href=${link.execution(r.executionId)}>${fired(r)}</a> <span class="small muted"><${Time} at=${r.fireTime} jobZone=${jobZone} /></span>`, title: (/** @type {any} */ r) => r.executionId },
    { key: 'by', label: t('by'), cell: (/** @type {any} */ r) => sourceWord(r.source) },
    { key: 'took', label: t('took'), num: true, cell: (/** @type {any} */ r) => (r.durationMillis == null && r.startTime && !r.completeTime ? html`<${Since} at=${r.startTime} />` : duration(r.durationMillis)) },
    { key: 'shards', label: t('shards'), cell: (/** @type {any} */ r) => html`<span class="row tight">${Object.entries(r.shards).map(([state, n]) => html`<${State} key=${state} of=${state} count=${n} bare />`)}</span>`, title: (/** @type {any} */ r) => Object.entries(r.shards).map(([s, n]) => `${stateWord(s)} ${n}`).join(', ') },
    { key: 'reason', label: t('reason'), cell: (/** @type {any} */ r) => html`<span class="cut fill">${reasonOf(r)}</span>`, title: reasonOf },
  ]} />`
}

/**
 * neighbour finds the execution of a job before or after another one, or returns null if there is none. Lists begin with the newest
 * execution. To find the next one, neighbour therefore requests growing periods of time after the given execution.
 * @param {{jobName: string, executionId: string, fireTime: string}} of
 * @param {'before' | 'after'} which
 * @returns {Promise<string | null>}
 */
export async function neighbour(of, which) {
  const path = `/api/job/${encodeURIComponent(of.jobName)}/executions`
  if (which === 'before') {
    const [one] = await get(withQuery(path, { before: `${of.fireTime},${of.executionId}`, limit: 1 }))
    return one?.executionId ?? null
  }
  const fired = new Date(of.fireTime).getTime()
  let stretch = 60_000
  for (let tries = 0, least = 0; tries < 40; tries++) {
    const until = fired + stretch
    const rows = await get(withQuery(path, { since: of.fireTime, before: new Date(until).toISOString(), limit: 200 }))
    const at = rows.findIndex((/** @type {any} */ r) => r.executionId === of.executionId)
    const later = at < 0 ? rows : rows.slice(0, at)
    if (rows.length === 200 && at < 0 && stretch - least > 1) stretch = least + Math.floor((stretch - least) / 8) || 1
    else if (later.length) return later.at(-1).executionId
    else if (until > Date.now()) return null
    else [least, stretch] = [stretch, stretch * 8]
  }
  return null
}
