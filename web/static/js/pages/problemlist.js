// The problems, the worst first.
import { html, useState } from '../lib/html.js'
import { useAgentNames } from '../lib/agents.js'
import { idOf, sentenceOf } from '../lib/problems.js'
import { messageOf } from '../lib/reasons.js'
import { texts } from '../lib/texts.js'
import { placeOf } from '../frame/problems.js'
import { Icon } from '../pieces/icon.js'
import { Time } from '../pieces/time.js'

const t = texts(
  { title: 'Needs attention', fine: 'Nothing needs attention.', all: 'Show all {n}', further: '{n} more are not listed here.' },
  { title: '需要关注', fine: '没有需要关注的问题。', all: '显示全部 {n} 项', further: '另有 {n} 项未列出。' },
)

/** @typedef {import('../lib/problems.js').Problem} Problem */

/**
 * ProblemList shows the first eight problems, or all when the user asks for them.
 * @param {{problems: Problem[] | undefined, total: number | undefined}} props
 */
export function ProblemList({ problems, total }) {
  const [all, setAll] = useState(false)
  useAgentNames()
  if (!problems) return html`<section class="box" aria-busy="true"><h2>${t('title')}</h2></section>`
  const shown = all ? problems : problems.slice(0, 8)
  return html`<section class="box"><h2>${t('title')}</h2>
    ${problems.length === 0 && html`<p class="muted">${t('fine')}</p>`}
    <ul class="problem-list">${shown.map((p) => html`<li key=${idOf(p)}>
      <span class=${p.severity}><${Icon} name="warning" /></span>
      <a href=${placeOf(p)}>${sentenceOf(p)}</a>
      <span class="cut muted" title=${messageOf(p)}>${sentenceOf(p) === messageOf(p) ? '' : messageOf(p)}</span>
      <span class="small muted"><${Time} at=${p.since} none="" /></span></li>`)}</ul>
    ${problems.length > shown.length && html`<button type="button" class="link-button" onClick=${() => setAll(true)}>${t('all', { n: problems.length })}</button>`}
    ${all && (total ?? 0) > problems.length && html`<p class="muted small">${t('further', { n: (total ?? 0) - problems.length })}</p>`}
  </section>`
}
