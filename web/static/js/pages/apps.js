// The list of apps.
import { html, useEffect, useState } from '../lib/html.js'
import { get, withQuery } from '../lib/api.js'
import { memory, number } from '../lib/format.js'
import { useResource } from '../lib/resource.js'
import { patiently } from '../lib/retry.js'
import { useQuery } from '../lib/router.js'
import { mayAny } from '../lib/session.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { FirstSteps } from '../pieces/firststeps.js'
import { Icon } from '../pieces/icon.js'
import { Loaded, Empty } from '../pieces/notice.js'
import { State } from '../pieces/state.js'
import { Pager, Table } from '../pieces/table.js'
import { link } from '../routes.js'
import { SearchField } from './jobs.js'

const t = texts(
  { title: 'Apps', publish: 'Publish an app', name: 'App', url: 'Package', script: 'Script', cpu: 'CPU', memory: 'Memory', jobs: 'Jobs', state: 'State', filter: 'Search by name or package', nothing: 'No matching apps', clear: 'Clear the search', pinned: 'pinned' },
  { title: '应用', publish: '发布应用', name: '应用', url: '应用包', script: '启动脚本', cpu: 'CPU', memory: '内存', jobs: '作业', state: '状态', filter: '按名称或应用包搜索', nothing: '没有符合条件的应用', clear: '清除搜索', pinned: '已固定' },
)

const perPage = 50

/** @typedef {{appName: string, appURL: string, image?: string, bootstrapScript: string, cpuCount: number, memoryMB: number, appSHA256?: string}} App */

export default function Apps() {
  const [query, setQuery] = useQuery()
  /** @type {import('../lib/resource.js').Resource<App[]>} */
  const apps = useResource('/api/app/list', { on: (c) => c.apps.length > 0 })
  const publish = mayAny('admin') && html`<a class="button main" href="/apps/new"><${Icon} name="plus" />${t('publish')}</a>`
  return html`<${Page} title=${t('title')} main=${publish}>
    <${Loaded} of=${apps}>${(/** @type {App[]} */ all) => (all.length === 0 ? html`<${FirstSteps} of="apps" />` : html`<${List} all=${all} query=${query} setQuery=${setQuery} />`)}</${Loaded}>
  </${Page}>`
}

/** @param {{all: App[], query: Record<string, string>, setQuery: (change: Record<string, string | number>, how?: {push?: boolean}) => void}} props */
function List({ all, query, setQuery }) {
  const words = (query.search ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const fit = all.filter((a) => words.every((w) => `${a.appName} ${a.appURL} ${a.image ?? ''}`.toLowerCase().includes(w)))
  const page = Number(query.page) || 1
  const rows = fit.slice((page - 1) * perPage, page * perPage)
  const counts = useJobCounts(rows.map((a) => a.appName))
  const search = (/** @type {string} */ text) => setQuery({ search: text, page: '' })
  return html`<div class="find"><${SearchField} value=${query.search ?? ''} label=${t('filter')} onSearch=${search} /></div>
    ${rows.length === 0
      ? html`<${Empty} title=${t('nothing')}><button type="button" class="button" onClick=${() => search('')}>${t('clear')}</button></${Empty}>`
      : html`<${Table} label=${t('title')} rows=${rows} id=${(/** @type {App} */ a) => a.appName} to=${(/** @type {App} */ a) => link.app(a.appName)}
          columns=${[
            { key: 'name', label: t('name'), cell: (/** @type {App} */ a) => html`<a class="short" href=${link.app(a.appName)}>${a.appName}</a>`, title: (/** @type {App} */ a) => a.appName },
            { key: 'state', label: t('state'), cell: (/** @type {App} */ a) => (counts.get(a.appName)?.off ? html`<${State} of="DISABLED" />` : '') },
            { key: 'jobs', label: t('jobs'), num: true, cell: (/** @type {App} */ a) => (counts.has(a.appName) ? html`<a href=${withQuery('/jobs', { app: a.appName })}>${number(counts.get(a.appName)?.total)}</a>` : html`<span class="muted">–</span>`) },
            { key: 'url', label: t('url'), cell: (/** @type {App} */ a) => html`${a.appURL || a.image}${a.appSHA256 ? html` <span class="small muted">${t('pinned')}</span>` : ''}`, title: (/** @type {App} */ a) => a.appURL || (a.image ?? '') },
            { key: 'script', label: t('script'), cell: (/** @type {App} */ a) => html`<span class="mono">${a.bootstrapScript}</span>`, title: (/** @type {App} */ a) => a.bootstrapScript },
            { key: 'cpu', label: t('cpu'), num: true, cell: (/** @type {App} */ a) => number(a.cpuCount) },
            { key: 'memory', label: t('memory'), num: true, cell: (/** @type {App} */ a) => memory(a.memoryMB) },
          ]} />`}
    ${fit.length > perPage && html`<${Pager} page=${page} perPage=${perPage} total=${fit.length} onPage=${(/** @type {number} */ n) => setQuery({ page: n === 1 ? '' : n }, { push: true })} />`}`
}

/**
 * useJobCounts reads for some apps, one after the other, how many jobs each has and whether it is disabled.
 * @param {string[]} names
 */
function useJobCounts(names) {
  const [counts, setCounts] = useState(/** @type {Map<string, {total: number, off: boolean}>} */ (new Map()))
  useEffect(() => {
    const abort = new AbortController()
    const ask = async () => {
      for (const app of names) {
        const { total, byState } = await patiently(() => get(withQuery('/api/jobs', { app, per_page: 1 }), abort.signal), abort.signal)
        setCounts((before) => new Map(before).set(app, { total, off: byState.APP_DISABLED > 0 }))
      }
    }
    ask().catch(() => {}) // the list itself shows the error
    return () => abort.abort()
  }, [names.join('\n')])
  return counts
}
