// One job: its state, what it waits for, its executions, its settings and their changes.
import { html } from '../lib/html.js'
import { seg } from '../lib/api.js'
import { queryWith, useQuery } from '../lib/router.js'
import { useResource } from '../lib/resource.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { Failure, Loaded } from '../pieces/notice.js'
import { State } from '../pieces/state.js'
import { link } from '../routes.js'
import { Changes } from './jobchanges.js'
import { jobActs } from './jobacts.js'
import { Now } from './jobnow.js'
import { Settings } from './jobsettings.js'
import { Runs } from './runs.js'

const t = texts(
  { jobs: 'Jobs', overview: 'Overview', executions: 'Executions', settings: 'Settings', changes: 'Changes', tabs: 'Views of the job', of: 'of app' },
  { jobs: '作业', overview: '概览', executions: '执行记录', settings: '配置', changes: '变更', tabs: '作业视图', of: '应用' },
)

const tabs = /** @type {const} */ (['overview', 'executions', 'settings', 'changes'])

/** @param {{job: string}} props */
export default function Job({ job }) {
  const [query, setQuery] = useQuery()
  const tab = tabs.find((x) => x === query.tab) ?? 'overview'
  const mine = { on: (/** @type {import('../lib/live.js').Change} */ c) => c.jobs.includes(job) }
  const explain = useResource(`/api/job/${seg(job)}/explain`, mine)
  const stored = useResource(`/api/job/jobs/${seg(job)}`, mine)
  const doc = stored.data
  const state = explain.data?.state
  const acts = doc && explain.data ? jobActs({ doc, explain: explain.data, changed: () => (explain.reload(), stored.reload()) }) : null
  const zone = doc?.timeZone ?? ''
  return html`<${Page} title=${job} crumbs=${[{ to: '/jobs', text: t('jobs') }]} main=${acts?.main} acts=${acts?.others}
      heading=${html`${state && html`<${State} of=${state} />`}${doc && html`<span class="muted small">${t('of')} <a href=${link.app(doc.appName)}>${doc.appName}</a></span>`}`}>
    <nav class="tabs" aria-label=${t('tabs')}>${tabs.map((x) => html`<a key=${x} href=${queryWith({ tab: x === 'overview' ? '' : x, state: '', since: '', runs: '' })} aria-current=${x === tab ? 'page' : undefined}>${t(x)}</a>`)}</nav>
    ${tab === 'overview' && html`<${Loaded} of=${explain}>${(/** @type {any} */ e) => html`${stored.error && !doc && html`<${Failure} error=${stored.error} again=${stored.reload} busy=${stored.retrying} />`}${(doc || stored.error) && html`<${Now} job=${job} explain=${e} doc=${doc} />`}`}</${Loaded}>`}
    ${tab === 'executions' && html`<${Runs} job=${job} jobZone=${zone} query=${query} setQuery=${setQuery} />`}
    ${tab === 'settings' && html`<${Loaded} of=${stored}>${(/** @type {any} */ d) => html`<${Settings} doc=${d} />`}</${Loaded}>`}
    ${tab === 'changes' && html`<${Changes} job=${job} doc=${doc} jobZone=${zone} />`}
  </${Page}>`
}
