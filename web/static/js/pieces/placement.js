// The placement preview: on which agents a job's shards would run now.
import { html } from '../lib/html.js'
import { reasonOf } from '../lib/reasons.js'
import { texts } from '../lib/texts.js'
import { Agent } from './agent.js'

const t = texts(
  { title: 'Placement preview', unknown: 'Once the document is valid, this shows where its shards would be placed.', fits: 'All shards would start at once.', asked: 'The shards would start as soon as agents offer their resources.', waits: 'They would wait: {reason}', shards: '{n|shard|shards}', agent: 'Agent', items: 'Shards' },
  { title: '调度预览', unknown: '校验通过后，显示各分片将调度到哪台机器。', fits: '所有分片将立即启动。', asked: 'Agent 提供资源后，分片即可启动。', waits: '将会等待：{reason}', shards: '{n} 个分片', agent: 'Agent', items: '分片' },
)

/**
 * ranges formats numbers such as 0–3, 7.
 * @param {number[]} items in ascending order
 */
export function ranges(items) {
  /** @type {[number, number][]} */
  const runs = []
  for (const i of items) {
    const last = runs[runs.length - 1]
    if (last && last[1] === i - 1) last[1] = i
    else runs.push([i, i])
  }
  return runs.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`)).join(', ')
}

/**
 * Placement shows the placement in the answer to POST /api/job/check. checked is null while there is no answer, or if the document is
 * invalid.
 * @param {{checked: any}} props
 */
export function Placement({ checked }) {
  const placement = checked?.placement
  /** @type {Map<string, {hostname: string, items: number[]}>} */
  const agents = new Map()
  for (const { item, agent, hostname } of placement?.shards ?? []) {
    if (!agents.has(agent)) agents.set(agent, { hostname, items: [] })
    agents.get(agent)?.items.push(item)
  }
  return html`<section class="box placement" aria-live="polite"><h2>${t('title')}</h2>
    ${!placement ? html`<p class="muted">${t('unknown')}</p>` : html`
      <p>${!placement.fits ? html`<span class="warn">${t('waits', { reason: reasonOf(placement) })}</span>` : agents.size ? t('fits') : reasonOf(placement) || t('asked')}</p>
      ${agents.size > 0 && html`<dl class="facts">${[...agents].map(([agent, { hostname, items }]) => html`<dt><${Agent} id=${agent} hostname=${hostname} /></dt><dd>${t('shards', { n: items.length })}: ${ranges(items.sort((a, b) => a - b))}</dd>`)}</dl>`}`}
  </section>`
}
