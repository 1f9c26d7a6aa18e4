// The output of one task.
import { html, useState } from '../lib/html.js'
import { get, seg, withQuery } from '../lib/api.js'
import { logsPath } from '../lib/follow.js'
import { useResource } from '../lib/resource.js'
import { mayPass } from '../lib/retry.js'
import { queryWith, useQuery } from '../lib/router.js'
import { useSignal } from '../lib/signal.js'
import { remembered } from '../lib/store.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { Icon } from '../pieces/icon.js'
import { Log, useReader } from '../pieces/log.js'
import { LogSearch } from '../pieces/logsearch.js'
import { link } from '../routes.js'

const t = texts(
  { title: 'Output', jobs: 'Jobs', shard: 'shard {item}', streams: 'Stream', wrap: 'Wrap lines', aloud: 'Read new lines aloud', search: 'Search in the output', searchAll: 'Search all of it', download: 'Download', execution: 'Execution' },
  { title: '输出', jobs: '作业', shard: '分片 {item}', streams: '输出流', wrap: '自动换行', aloud: '朗读新行', search: '在输出中搜索', searchAll: '搜索全部输出', download: '下载', execution: '执行记录' },
)

export const wrapLines = remembered('wrap', false, (v) => typeof v === 'boolean')

const streams = ['stdout', 'stderr']

/**
 * rowsOrNone reads rows of the history. It returns none if a retry cannot help, for example because the server has no history.
 * @param {string} path
 * @param {AbortSignal} signal
 */
async function rowsOrNone(path, signal) {
  try {
    return await get(path, signal)
  } catch (e) {
    if (mayPass(e)) throw e
    return { rows: [] }
  }
}

/**
 * taskParts returns the job and the shard in a task's id.
 * @param {string} task
 */
export function taskParts(task) {
  const [job, items] = task.split('@-@')
  return { job, item: items ?? '' }
}

/** @param {{task: string}} props */
export default function TaskLog({ task }) {
  const [query, setQuery] = useQuery()
  const [aloud, setAloud] = useState(false)
  const wrap = useSignal(wrapLines)
  const stream = streams.includes(query.stream) ? query.stream : 'stdout'
  const at = /^\d+$/.test(query.at ?? '') ? Number(query.at) : null
  const reader = useReader(task, stream, at)
  const { job, item } = taskParts(task)
  const known = useResource(withQuery('/api/job/events/executions', { jobName: job, taskId: task, per_page: 1 }), { read: rowsOrNone })
  const execution = known.data?.rows[0]?.executionId
  const linkTo = (/** @type {number} */ n) => queryWith({ at: n })
  const crumbs = [{ to: '/jobs', text: t('jobs') }, { to: link.job(job), text: job }, ...(execution ? [{ to: link.execution(execution), text: execution }] : [])]
  return html`<${Page} title=${`${t('title')}: ${t('shard', { item })}`} crumbs=${crumbs} class="log-page"
    acts=${html`<a class="button" href=${logsPath(task, { stream, download: true })} download><${Icon} name="download" />${t('download')}</a>`}>
    <div class="log-tools">
      <${StreamSwitch} stream=${stream} onChange=${(/** @type {string} */ s) => setQuery({ stream: s === 'stdout' ? '' : s, at: '' }, { push: true })} />
      <${SearchBox} query=${query.q ?? ''} onChange=${(/** @type {string} */ q) => setQuery({ q, all: '' })} onAll=${() => setQuery({ all: 'true' })} />
      <${Switch} label=${t('wrap')} on=${wrap} onChange=${(/** @type {boolean} */ on) => wrapLines.set(on)} />
      <${Switch} label=${t('aloud')} on=${aloud} onChange=${setAloud} />
    </div>
    ${query.all && query.q && html`<${LogSearch} task=${task} stream=${stream} query=${query.q} at=${at} linkTo=${linkTo} onClose=${() => setQuery({ all: '' })} />`}
    <${Log} key=${stream} reader=${reader} at=${at} query=${query.q ?? ''} wrap=${wrap} aloud=${aloud} label=${`${stream} ${seg(job)} ${item}`} linkTo=${linkTo} live=${reader.following !== 'ended'} />
  </${Page}>`
}

/**
 * StreamSwitch lets the user choose the stream.
 * @param {{stream: string, onChange: (stream: string) => void}} props
 */
export const StreamSwitch = ({ stream, onChange }) => html`<div class="segments" role="group" aria-label=${t('streams')}>${streams.map((s) => html`<button key=${s} type="button" aria-pressed=${s === stream} onClick=${() => onChange(s)}>${s}</button>`)}</div>`

/**
 * SearchBox asks for a text to search. With onAll, Enter and a button search the whole output.
 * @param {{query: string, onChange: (q: string) => void, onAll?: () => void}} props
 */
export function SearchBox({ query, onChange, onAll }) {
  return html`<form class="row" role="search" onSubmit=${(/** @type {Event} */ e) => (e.preventDefault(), query && onAll?.())}>
    <input class="input" type="search" aria-label=${t('search')} placeholder=${t('search')} value=${query} spellcheck="false" onInput=${(/** @type {any} */ e) => onChange(e.target.value)} />
    ${onAll && html`<button class="button" disabled=${!query}>${t('searchAll')}</button>`}
  </form>`
}

/** @param {{label: string, on: boolean, onChange: (on: boolean) => void}} props */
export const Switch = ({ label, on, onChange }) => html`<label class="check"><input type="checkbox" checked=${on} onChange=${(/** @type {any} */ e) => onChange(e.target.checked)} />${label}</label>`
