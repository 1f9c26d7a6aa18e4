// The history: runs of shards, changes of tasks' states, statistics.
import { html } from '../lib/html.js'
import { useQuery } from '../lib/router.js'
import { may } from '../lib/session.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { Statistics } from '../pieces/statistics.js'
import { Runs, Traces } from '../pieces/historysearch.js'

const t = texts({ title: 'History', executions: 'Executions', traces: 'Status traces', statistics: 'Statistics' }, { title: '历史', executions: '执行轨迹', traces: '状态轨迹', statistics: '统计' })

/** @typedef {'executions' | 'traces' | 'statistics'} Tab */

export default function History() {
  const [query] = useQuery()
  /** @type {Tab[]} */
  const tabs = may('viewer') ? ['executions', 'traces', 'statistics'] : ['executions', 'traces']
  const tab = tabs.find((x) => x === query.tab) ?? 'executions'
  return html`<${Page} title=${t('title')}>
    <nav class="tabs" aria-label=${t('title')}>${tabs.map((x) => html`<a key=${x} href=${x === 'executions' ? '/history' : `/history?tab=${x}`} aria-current=${x === tab ? 'page' : undefined}>${t(x)}</a>`)}</nav>
    ${tab === 'executions' ? html`<${Runs} query=${query} />` : tab === 'traces' ? html`<${Traces} query=${query} />` : html`<${Statistics} />`}
  </${Page}>`
}
