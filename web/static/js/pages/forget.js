// What something waits for; where that is the end of a task on an agent that is away, a way to say that it has ended.
import { html } from '../lib/html.js'
import { seg } from '../lib/api.js'
import { reasonOf, taskToForget } from '../lib/reasons.js'
import { may } from '../lib/session.js'
import { texts } from '../lib/texts.js'
import { ActButton } from '../pieces/act.js'

const t = texts(
  {
    forget: 'It has ended: release the shard', title: 'Has this task ended?', done: 'The shard is released.', sure: 'The agent of this task can’t be reached, so nobody here knows whether its processes still run. Your word that they have ended lets the shard run again at once.', risk: 'If they do run, the shard’s work is done twice at the same time. Look at the machine first, or make sure that it is off.', task: 'Task',
  },
  {
    forget: '它已结束：释放分片', title: '此任务已结束？', done: '分片已释放。', sure: '无法联系此任务所在的 Agent，因此无人知道其进程是否仍在运行。您确认它们已结束，分片就可以立即重新运行。', risk: '如果它们仍在运行，该分片的工作会同时执行两次。请先检查那台机器，或确保它已关机。', task: '任务',
  },
)

/** @param {{of: import('../lib/reasons.js').Answer, app: string, then?: () => void}} props */
export function Reason({ of, app, then }) {
  const task = taskToForget(of ?? {})
  return html`<div class="reason">${reasonOf(of)}</div>
    ${task && may('operator', app) && html`<${ActButton} small danger label=${t('forget')} requests=${[{ method: 'POST', path: `/api/task/${seg(task)}/forget` }]} done=${t('done')} then=${then}
      confirm=${{ title: t('title'), text: html`<p>${t('sure')}</p><p>${t('risk')}</p><p class="small muted">${t('task')} <code>${task}</code></p>` }} />`}`
}
