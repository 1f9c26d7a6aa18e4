// What needs a look, the worst first.
import { html, useState } from '../lib/html.js'
import { agents, useAgentNames } from '../lib/agents.js'
import { messageOf } from '../lib/reasons.js'
import { texts } from '../lib/texts.js'
import { Agent } from '../pieces/agent.js'
import { Icon } from '../pieces/icon.js'
import { Time } from '../pieces/time.js'
import { link } from '../routes.js'

const t = texts(
  {
    title: 'What needs a look', fine: 'Nothing needs a look: all is as it should be.', all: 'Show all {n}', further: '{n} more are not listed here.',
    FAILING: 'fails', failingTimes: 'failed {n|time|times} in a row', WAITING: 'waits', LATE: 'is late', AGENT_UNREACHABLE: 'agent unreachable', NOT_SUBSCRIBED: 'not subscribed to the cluster', FAULTY: 'faulty document',
    START_FAILURES: 'does not start on {agent}', MISSED: 'missed fires', UNNOTIFIED: 'notification not sent', DAEMON_SILENT: 'daemon is silent', WARNING: 'warning',
  },
  {
    title: '需要关注', fine: '没有需要关注的问题。', all: '显示全部 {n} 项', further: '另有 {n} 项未列出。',
    FAILING: '失败', failingTimes: '连续失败 {n} 次', WAITING: '等待中', LATE: '延迟', AGENT_UNREACHABLE: 'Agent 失联', NOT_SUBSCRIBED: '未订阅集群', FAULTY: '配置有误',
    START_FAILURES: '在 {agent} 上启动失败', MISSED: '错过触发', UNNOTIFIED: '通知未发出', DAEMON_SILENT: '常驻作业无响应', WARNING: '警告',
  },
)

/** @typedef {import('../lib/problems.js').Problem} Problem */

/**
 * ProblemList is the list; the first eight, until all are asked for.
 * @param {{problems: Problem[] | undefined, total: number | undefined}} props
 */
export function ProblemList({ problems, total }) {
  const [all, setAll] = useState(false)
  useAgentNames()
  if (!problems) return html`<section class="box" aria-busy="true"><h2>${t('title')}</h2></section>`
  const shown = all ? problems : problems.slice(0, 8)
  return html`<section class="box"><h2>${t('title')}</h2>
    ${problems.length === 0 && html`<p class="muted">${t('fine')}</p>`}
    <ul class="problem-list">${shown.map((p) => html`<li key=${p.kind + p.job + p.app + p.agent + p.path}>
      <span class=${p.severity}><${Icon} name="warning" /></span>
      <span class="what">${where(p)}<span>${what(p)}</span></span>
      <span class="cut muted" title=${messageOf(p)}>${messageOf(p)}</span>
      <span class="small muted"><${Time} at=${p.since} none="" /></span></li>`)}</ul>
    ${problems.length > shown.length && html`<button type="button" class="link-button" onClick=${() => setAll(true)}>${t('all', { n: problems.length })}</button>`}
    ${all && (total ?? 0) > problems.length && html`<p class="muted small">${t('further', { n: (total ?? 0) - problems.length })}</p>`}
  </section>`
}

/** @param {Problem} p */
function what(p) {
  if (p.kind === 'FAILING' && p.count > 1) return t('failingTimes', { n: p.count })
  return t(/** @type {any} */ (p.kind), { agent: agents.nameOf(p.agent) })
}

/** @param {Problem} p */
function where(p) {
  if (p.job) return html`<a href=${link.job(p.job)}>${p.job}</a>`
  if (p.app) return html`<a href=${link.app(p.app)}>${p.app}</a>`
  if (p.agent) return html`<${Agent} id=${p.agent} />`
  if (p.path) return html`<a href="/cluster#faulty">${p.path}</a>`
  return null
}
