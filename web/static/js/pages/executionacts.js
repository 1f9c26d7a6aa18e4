// The actions on an execution.
import { html } from '../lib/html.js'
import { seg } from '../lib/api.js'
import { may } from '../lib/session.js'
import { isOver } from '../lib/spans.js'
import { texts } from '../lib/texts.js'
import { ActButton } from '../pieces/act.js'
import { toast } from '../pieces/toast.js'
import { link } from '../routes.js'

const t = texts(
  {
    kill: 'Kill', killTitle: 'Kill this execution?', kills: 'This kills {n|running shard|running shards}.', ends: '{n|waiting shard ends|waiting shards end} as KILLED.', how: 'Processes get SIGTERM, and SIGKILL after the grace period. The job continues with its next fire.', daemon: 'A daemon’s shards are placed again: to end it, disable or delete the job.', killed: 'Killing: it ends when its processes have ended.',
    again: 'Run again', ran: 'Started again with the same parameters.', show: 'Show it',
  },
  {
    kill: '终止', killTitle: '终止这次执行？', kills: '将终止 {n} 个运行中的分片。', ends: '{n} 个等待中的分片以“已终止”结束。', how: '进程先收到 SIGTERM，宽限期后收到 SIGKILL。作业会在下次触发时继续。', daemon: '常驻作业会重新放置分片：要结束它，请禁用或删除作业。', killed: '正在终止：进程结束后即完成。',
    again: '再次运行', ran: '已用相同参数再执行一次。', show: '查看',
  },
)

/**
 * executionActs returns the actions that are possible now.
 * @param {{execution: any, app: string, changed: () => void}} props
 */
export function executionActs({ execution: e, app, changed }) {
  if (!may('operator', app || undefined)) return { main: null, others: null }
  const path = `/api/execution/${seg(e.executionId)}`
  const count = (/** @type {string[]} */ states) => e.shards.filter((/** @type {any} */ s) => states.includes(s.state)).length
  const runs = count(['RUNNING', 'LAUNCHING'])
  const waits = count(['WAITING'])
  const main = e.source !== 'DAEMON' && html`<${ActButton} main=${isOver(e.state)} icon="refresh" label=${t('again')} requests=${[{ method: 'POST', path: `${path}/again` }]} then=${(/** @type {any[]} */ [a]) => toast(t('ran'), { link: { to: link.execution(a.executionId), text: t('show') } })} />`
  const others = !isOver(e.state) && html`<${ActButton} danger icon="stop" label=${t('kill')} requests=${[{ method: 'POST', path: `${path}/kill` }]} done=${t('killed')} then=${changed}
    confirm=${{ title: t('killTitle'), text: html`<p><b>${[runs && t('kills', { n: runs }), waits && t('ends', { n: waits })].filter(Boolean).join(' ')}</b></p><p>${t('how')}</p>${e.source === 'DAEMON' && html`<p>${t('daemon')}</p>`}` }} />`
  return { main, others }
}
