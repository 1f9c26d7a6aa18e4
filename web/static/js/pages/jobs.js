// The list of all jobs. The server searches, filters, sorts and pages it as the address says.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { withQuery } from '../lib/api.js'
import { useResource } from '../lib/resource.js'
import { useQuery } from '../lib/router.js'
import { mayAny } from '../lib/session.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { Selection } from '../pieces/bulk.js'
import { FirstSteps } from '../pieces/firststeps.js'
import { Icon } from '../pieces/icon.js'
import { ColumnChoice, JobTable, typeWord } from '../pieces/jobtable.js'
import { Empty, Loaded } from '../pieces/notice.js'
import { lookOf, stateWord } from '../pieces/state.js'
import { Pager } from '../pieces/table.js'

const t = texts(
  {
    title: 'Jobs', register: 'Register a job', search: 'Search by name, app or description', app: 'App', allApps: 'All apps', type: 'Type', allTypes: 'All types', all: 'All', states: 'States', lastFailed: 'Last run failed',
    nothing: 'No matching jobs', nothingHelp: 'Try other words or fewer filters.', clear: 'Clear the filters',
  },
  {
    title: '作业', register: '注册作业', search: '按名称、应用或描述搜索', app: '应用', allApps: '全部应用', type: '类型', allTypes: '全部类型', all: '全部', states: '状态', lastFailed: '上次执行失败',
    nothing: '没有符合条件的作业', nothingHelp: '换个关键词或减少筛选条件试试。', clear: '清除筛选',
  },
)

const order = ['RUNNING', 'WAITING', 'READY', 'ON_TRIGGER', 'PAUSED', 'SHUTTING_DOWN', 'DISABLED', 'APP_DISABLED', 'NEVER', 'FAULTY']
const failedStates = 'FAILED'

/**
 * SearchField calls onSearch with its text once the user has not typed for 150 ms.
 * @param {{value: string, label: string, onSearch: (text: string) => void}} props
 */
export function SearchField({ value, label, onSearch }) {
  const [typed, setTyped] = useState(value)
  const told = useRef(value)
  useEffect(() => {
    if (value !== told.current) setTyped((told.current = value)) // the address has changed in another way
  }, [value])
  useEffect(() => {
    if (typed === told.current) return
    const timer = setTimeout(() => onSearch((told.current = typed)), 150)
    return () => clearTimeout(timer)
  }, [typed])
  return html`<input class="input search" type="search" aria-label=${label} placeholder=${label} value=${typed} onInput=${(/** @type {any} */ e) => setTyped(e.target.value)} />`
}

export default function Jobs() {
  const [query, setQuery] = useQuery()
  const [selected, setSelected] = useState(/** @type {Set<string>} */ (new Set()))
  const page = Number(query.page) || 1
  const perPage = Number(query.per_page) || 50
  const { search, app, type, state, last, sort, order: way } = query
  /** @type {import('../lib/resource.js').Resource<import('../pieces/jobtable.js').JobPage>} */
  const jobs = useResource(withQuery('/api/jobs', { search, app, type, state, last, sort, order: way, page, per_page: perPage }), { on: (c) => c.jobs.length > 0, gap: 1000, stay: true })
  const filter = (/** @type {Record<string, string>} */ change) => {
    setSelected(new Set())
    setQuery({ ...change, page: '' })
  }
  const clear = () => filter({ search: '', app: '', type: '', state: '', last: '' })
  const filtered = Boolean(search || app || type || state || last)
  const register = mayAny('admin') && html`<a class="button main" href="/jobs/new"><${Icon} name="plus" />${t('register')}</a>`
  const states = (state ?? '').split(',').filter(Boolean)
  return html`<${Page} title=${t('title')} main=${register}>
    <${Loaded} of=${jobs}>${(/** @type {import('../pieces/jobtable.js').JobPage} */ data) => {
      if (!filtered && data.total === 0) return html`<${FirstSteps} of="jobs" />`
      return html`
        <div class="find">
          <${SearchField} value=${search ?? ''} label=${t('search')} onSearch=${(/** @type {string} */ text) => filter({ search: text })} />
          <${AppChoice} value=${app ?? ''} onChange=${(/** @type {string} */ value) => filter({ app: value })} />
          <select class="input" aria-label=${t('type')} value=${type ?? ''} onChange=${(/** @type {any} */ e) => filter({ type: e.target.value })}>
            <option value="">${t('allTypes')}</option>${['TRANSIENT', 'DAEMON'].map((v) => html`<option key=${v} value=${v}>${typeWord(v)}</option>`)}
          </select>
          <${ColumnChoice} />
        </div>
        <${StateChips} byState=${data.byState} chosen=${states} onChange=${(/** @type {string[]} */ next) => filter({ state: next.join(',') })}>
          <button type="button" class="chip" aria-pressed=${Boolean(last)} onClick=${() => filter({ last: last ? '' : failedStates })}><span class="s-failed mark" aria-hidden="true">✕</span>${last && last !== failedStates ? last.split(',').map(stateWord).join(', ') : t('lastFailed')}</button>
        </${StateChips}>
        ${data.rows.length === 0
          ? html`<${Empty} title=${t('nothing')}><p>${t('nothingHelp')}</p><button type="button" class="button" onClick=${clear}>${t('clear')}</button></${Empty}>`
          : html`<${JobTable} question=${jobs.path} rows=${data.rows} sorted=${{ key: sort ?? 'name', order: way === 'DESC' ? 'DESC' : 'ASC' }}
              onSort=${(/** @type {string} */ key, /** @type {string} */ to) => setQuery({ sort: key, order: to, page: '' })} selected=${selected} onSelect=${setSelected} onDone=${jobs.reload} />`}
        <${Pager} page=${page} perPage=${perPage} total=${data.total} onPage=${(/** @type {number} */ n) => {
          setSelected(new Set())
          setQuery({ page: n === 1 ? '' : n }, { push: true })
        }} />
        <${Selection} jobs=${data.rows.filter((j) => selected.has(j.jobName))} onClear=${() => setSelected(new Set())} onDone=${jobs.reload} />`
    }}</${Loaded}>
  </${Page}>`
}

/**
 * StateChips filters by state, and shows the number of jobs in each state.
 * @param {{byState: Record<string, number>, chosen: string[], onChange: (chosen: string[]) => void, children?: any}} props
 */
export function StateChips({ byState, chosen, onChange, children }) {
  const shown = order.filter((s) => byState[s] || chosen.includes(s))
  const total = Object.values(byState).reduce((sum, n) => sum + n, 0)
  const toggle = (/** @type {string} */ s) => onChange(chosen.includes(s) ? chosen.filter((c) => c !== s) : [...chosen, s])
  return html`<div class="chips" role="group" aria-label=${t('states')}>
    <button type="button" class="chip" aria-pressed=${chosen.length === 0} onClick=${() => onChange([])}>${t('all')} ${total.toLocaleString()}</button>
    ${shown.map((s) => {
      const [style, mark] = lookOf(s)
      return html`<button key=${s} type="button" class="chip" aria-pressed=${chosen.includes(s)} onClick=${() => toggle(s)}><span class=${`mark s-${style}`} aria-hidden="true">${mark}</span>${stateWord(s)} ${(byState[s] ?? 0).toLocaleString()}</button>`
    })}${children}
  </div>`
}

/**
 * AppChoice lets the user choose an app.
 * @param {{value: string, onChange: (app: string) => void}} props
 */
function AppChoice({ value, onChange }) {
  const apps = useResource('/api/app/list', { on: (c) => c.apps.length > 0 })
  const names = new Set([...(apps.data ?? []).map((/** @type {any} */ a) => a.appName), ...(value ? [value] : [])])
  return html`<select class="input" aria-label=${t('app')} value=${value} onChange=${(/** @type {any} */ e) => onChange(e.target.value)}>
    <option value="">${t('allApps')}</option>${[...names].map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
  </select>`
}
