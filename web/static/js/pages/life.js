// The events of an execution, as a list.
import { html, useState } from '../lib/html.js'
import { sourceWord } from '../lib/codewords.js'
import { duration, moment } from '../lib/format.js'
import { messageOf } from '../lib/reasons.js'
import { texts } from '../lib/texts.js'
import { useZone } from '../lib/zone.js'
import { State, stateWord } from '../pieces/state.js'

const t = texts(
  {
    title: 'Events', show: '{n|event|events}', time: 'Time', after: 'After', what: 'Event', shard: 'Shard', message: 'Message', none: 'Its events are in the history, which this server does not have.',
    shards: '{n|shard|shards}', FIRED: 'Fired', WAITED: 'Waited', WAITING: 'Waiting', LAUNCHED: 'Launched', REQUEUED: 'Requeued', KILLING: 'Kill requested', ENDED: 'Ended', STAGING: 'Sent to the agent',
  },
  {
    title: '执行过程', show: '{n} 个事件', time: '时间', after: '间隔', what: '事件', shard: '分片', message: '说明', none: '执行过程记录在历史数据库中，而此调度器没有配置。',
    shards: '{n} 个分片', FIRED: '触发', WAITED: '等待', WAITING: '正在等待', LAUNCHED: '已启动', REQUEUED: '将重新运行', KILLING: '请求终止', ENDED: '结束', STAGING: '已发送到 Agent',
  },
)

const steps = ['FIRED', 'WAITED', 'WAITING', 'LAUNCHED', 'REQUEUED', 'KILLING', 'ENDED']

/** @param {{life: any[] | undefined, note: string | undefined, jobZone: string}} props */
export function Life({ life, note, jobZone }) {
  const many = (life?.length ?? 0) > 40
  const [open, setOpen] = useState(false)
  if (!life) return html`<section class="box"><h2>${t('title')}</h2><p class="muted">${note || t('none')}</p></section>`
  return html`<section class="box"><h2>${t('title')}</h2>
    ${note && html`<p class="small muted">${note}</p>`}
    ${many ? html`<details onToggle=${(/** @type {any} */ e) => setOpen(e.target.open)}><summary>${t('show', { n: life.length })}</summary>${open && html`<${List} life=${life} jobZone=${jobZone} />`}</details>` : html`<${List} life=${life} jobZone=${jobZone} />`}
  </section>`
}

/**
 * messageIn returns the message of an event in the user's language. The message of an ENDED event begins with the state, and that of a
 * WAITING event of several shards with their number. The event's code does not cover these beginnings.
 * @param {any} m
 */
function messageIn(m) {
  if (m.kind === 'FIRED') return sourceWord(m.message)
  const [, before, because] = m.message.match({ ENDED: /^(\w+): (.*)$/s, WAITING: /^(\d+) shards: (.*)$/s }[/** @type {string} */ (m.kind)] ?? /^$/) ?? []
  if (!because) return messageOf(m) || m.reason
  return `${m.kind === 'ENDED' ? stateWord(before) : t('shards', { n: Number(before) })}: ${messageOf({ ...m, message: because })}`
}

/** @param {{life: any[], jobZone: string}} props */
function List({ life, jobZone }) {
  const zone = useZone(jobZone)
  return html`<div class=${`table-box${life.length > 40 ? ' life' : ''}`} tabindex="0" role="region" aria-label=${t('title')}><table class="table" aria-label=${t('title')}>
    <thead><tr><th scope="col">${t('time')}</th><th scope="col" class="num">${t('after')}</th><th scope="col">${t('what')}</th><th scope="col" class="num">${t('shard')}</th><th scope="col">${t('message')}</th></tr></thead>
    <tbody>${life.map((m, i) => {
      const message = messageIn(m)
      return html`<tr key=${i}><td class="nowrap">${moment(m.time, zone, { millis: true })}</td><td class="num">${m.afterMillis == null ? '' : `+${duration(m.afterMillis)}`}</td>
        <td>${m.kind === 'TASK_STAGING' ? t('STAGING') : steps.includes(m.kind) ? t(m.kind) : html`<${State} of=${m.kind} bare />`}</td><td class="num">${m.item ?? ''}</td><td title=${message}><span class="cut fill wide">${message}</span></td></tr>`
    })}</tbody>
  </table></div>`
}
