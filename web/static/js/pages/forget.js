// Shows why a shard waits. If it waits until a task that may still run has ended, the user can confirm that the task has ended, or
// declare its machine dead.
import { html, useState } from '../lib/html.js'
import { useAgentNames } from '../lib/agents.js'
import { seg } from '../lib/api.js'
import { orphanOf, reasonOf } from '../lib/reasons.js'
import { may } from '../lib/session.js'
import { texts } from '../lib/texts.js'
import { ActButton } from '../pieces/act.js'
import { DeadDialog } from './machine.js'

const t = texts(
  {
    forget: 'Confirm that it has ended: release the shard', title: 'Has this task ended?', done: 'The shard is released.', sure: 'The agent of this task can’t be reached, so it is not known whether its processes still run. If you confirm that they have ended, the shard runs again at once.', stuck: 'Processes of this task can’t be ended while the machine waits for a disk, for instance. If you have restarted the machine, they have ended: the shard then runs again at once.', risk: 'If they still run, the shard’s work is done twice at the same time. Check the machine first, or make sure that it is off.', task: 'Task', dead: 'Declare the machine dead',
  },
  {
    forget: '确认任务已结束，释放分片', title: '此任务已结束？', done: '分片已释放。', sure: '无法联系此任务所在的 Agent，因此不知道其进程是否仍在运行。确认它们已结束后，分片可立即重新运行。', stuck: '此任务的进程无法终止，例如机器在等待失效的磁盘。重启机器后它们即已结束：确认后，分片可立即重新运行。', risk: '如果它们仍在运行，该分片的工作会同时执行两次。请先检查那台机器，或确保它已关机。', task: '任务', dead: '宣布机器永久失效',
  },
)

/** @param {{of: import('../lib/reasons.js').Answer, app: string, then?: () => void}} props */
export function Reason({ of, app, then }) {
  const { task, agent, stuck } = orphanOf(of ?? {}) ?? {}
  return html`<div class="reason">${reasonOf(of)}</div>
    ${task && may('operator', app) && html`<div class="row"><${ActButton} small danger label=${t('forget')} requests=${[{ method: 'POST', path: `/api/task/${seg(task)}/forget` }]} done=${t('done')} then=${then}
      confirm=${{ title: t('title'), text: html`<p>${t(stuck ? 'stuck' : 'sure')}</p><p>${t('risk')}</p><p class="small muted">${t('task')} <code>${task}</code></p>` }} />
      ${agent && !stuck && may('operator') && html`<${DeclareDead} agent=${agent} then=${then} />`}</div>`}`
}

/**
 * DeclareDead declares the machine of an agent dead. The cluster may have forgotten the agent, so that it has no page.
 * @param {{agent: string, then?: () => void}} props
 */
function DeclareDead({ agent, then = () => {} }) {
  const [asking, setAsking] = useState(false)
  const nameOf = useAgentNames()
  return html`<button type="button" class="button small danger" onClick=${() => setAsking(true)}>${t('dead')}</button>
    ${asking && html`<${DeadDialog} host=${agent} name=${nameOf(agent)} then=${then} onClose=${() => setAsking(false)} />`}`
}
