// The list of all executions, the newest fire first.
import { html } from '../lib/html.js'
import { useQuery } from '../lib/router.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { Runs } from './runs.js'

const t = texts({ title: 'Executions' }, { title: '执行记录' })

export default function Executions() {
  const [query, setQuery] = useQuery()
  return html`<${Page} title=${t('title')}><${Runs} query=${query} setQuery=${setQuery} /></${Page}>`
}
