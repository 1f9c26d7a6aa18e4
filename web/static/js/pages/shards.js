// The shards of an execution, with the attempts of each and their outcomes.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { useAgentNames } from '../lib/agents.js'
import { seg } from '../lib/api.js'
import { duration, percent } from '../lib/format.js'
import { causeOf, reasonOf } from '../lib/reasons.js'
import { may } from '../lib/session.js'
import { texts } from '../lib/texts.js'
import { ActButton } from '../pieces/act.js'
import { Agent } from '../pieces/agent.js'
import { State } from '../pieces/state.js'
import { Pager } from '../pieces/table.js'
import { Since, Time } from '../pieces/time.js'
import { link } from '../routes.js'
import { Reason } from './forget.js'
import { DaemonShards } from './jobdaemon.js'

const t = texts(
  {
    title: 'Shards', shard: 'Shard', state: 'State', attempt: 'Attempt', agent: 'Agent', progress: 'Progress', began: 'Started', took: 'Duration', exit: 'Exit', cause: 'Reason', log: 'Log', details: 'Details of shard {item}', kill: 'Kill', killTitle: 'Kill shard {item}?', killText: 'Its task on {agent} gets SIGTERM, and SIGKILL after the grace period. The shard ends as KILLED, without retry or failover; the other shards continue.', killed: 'Killing shard {item}.',
    only: 'Only shard {item}', all: 'Show all', states: 'States', attempts: 'Attempts', failover: 'failover', waits: 'Waiting for', task: 'Task', none: 'No matching shards.', runsNow: 'Runs of the shards', acts: 'Actions',
  },
  {
    title: '分片', shard: '分片', state: '状态', attempt: '尝试', agent: 'Agent', progress: '进度', began: '开始时间', took: '耗时', exit: '退出码', cause: '原因', log: '日志', details: '分片 {item} 的详情', kill: '终止', killTitle: '终止分片 {item}？', killText: '它在 {agent} 上的任务会收到 SIGTERM，宽限期后收到 SIGKILL。无论重试和失效转移如何配置，该分片都以“已终止”结束；其他分片继续。', killed: '正在终止分片 {item}。',
    only: '仅分片 {item}', all: '显示全部', states: '状态', attempts: '尝试', failover: '失效转移', waits: '等待原因', task: '任务', none: '没有符合条件的分片。', runsNow: '各分片的运行情况', acts: '操作',
  },
)

const perPage = 50

/**
 * @typedef {object} ShardsProps
 * @property {any} execution
 * @property {import('../lib/spans.js').Spans} spans
 * @property {any[]} waiting
 * @property {string} app
 * @property {string} jobZone
 * @property {Record<string, string>} query
 * @property {(change: Record<string, string | number | undefined>) => void} setQuery
 * @property {() => void} reload
 */

/** @param {ShardsProps} props */
export function Shards({ execution: e, spans, waiting, app, jobZone, query, setQuery, reload }) {
  const [open, setOpen] = useState(/** @type {Set<number>} */ (new Set()))
  const ref = useRef(/** @type {HTMLElement | null} */ (null))
  const one = query.shard !== undefined && /^\d+$/.test(query.shard) ? Number(query.shard) : null
  useEffect(() => {
    if (one === null) return
    setOpen(new Set([one]))
    ref.current?.scrollIntoView({ block: 'nearest' })
  }, [one])
  /** @type {Map<string, number>} */
  const counts = new Map()
  for (const s of spans.shards) counts.set(s.shard.state, (counts.get(s.shard.state) ?? 0) + 1)
  const filtered = spans.shards.filter((s) => (one === null ? !query.show || s.shard.state === query.show : s.item === one))
  const page = Math.min(Math.max(1, Number(query.page) || 1), Math.max(1, Math.ceil(filtered.length / perPage)))
  const rows = filtered.slice((page - 1) * perPage, page * perPage)
  const progress = e.shards.some((/** @type {any} */ s) => s.progress)
  const reasons = new Map(waiting.filter((w) => w.executionId === e.executionId).map((w) => [w.item, w]))
  const toggle = (/** @type {number} */ item) => {
    const next = new Set(open)
    if (!next.delete(item)) next.add(item)
    setOpen(next)
  }
  const acts = may('operator', app || undefined) && rows.some((r) => alive(r.shard))
  const width = 9 + (progress ? 1 : 0) + (acts ? 1 : 0)
  return html`<section class="box" id="shards" ref=${ref}><h2>${t('title')}</h2>
    ${(counts.size > 1 || one !== null) && html`<div class="chips" role="group" aria-label=${t('states')}>
      ${one !== null && html`<span class="chip">${t('only', { item: one })}</span><button type="button" class="link-button small" onClick=${() => setQuery({ shard: '' })}>${t('all')}</button>`}
      ${one === null && [...counts].map(([state, n]) => html`<button key=${state} type="button" class="chip" aria-pressed=${query.show === state} onClick=${() => setQuery({ show: query.show === state ? '' : state, page: '' })}><${State} of=${state} bare count=${n} /></button>`)}
    </div>`}
    ${rows.length === 0 ? html`<p class="muted">${t('none')} <button type="button" class="link-button" onClick=${() => setQuery({ shard: '', show: '' })}>${t('all')}</button></p>` : html`<div class="table-box"><table class="table shards" aria-label=${t('title')}>
      <thead><tr><th class="pick"><span class="hidden">${t('attempts')}</span></th><th scope="col" class="num">${t('shard')}</th><th scope="col">${t('state')}</th><th scope="col" class="num">${t('attempt')}</th>${progress && html`<th scope="col">${t('progress')}</th>`}
        <th scope="col">${t('began')}</th><th scope="col" class="num">${t('took')}</th><th scope="col" class="num">${t('exit')}</th><th scope="col">${t('agent')}</th><th scope="col">${t('log')}</th><th scope="col">${t('cause')}</th>${acts && html`<th class="row-acts"><span class="hidden">${t('acts')}</span></th>`}</tr></thead>
      ${rows.map((r) => html`<${Row} key=${r.item} r=${r} width=${width + 1} progress=${progress} acts=${acts} app=${app} jobZone=${jobZone} why=${reasons.get(r.item) ?? r.shard} open=${open.has(r.item)} toggle=${() => toggle(r.item)} reload=${reload} />`)}
    </table></div>`}
    ${filtered.length > perPage && html`<${Pager} page=${page} perPage=${perPage} total=${filtered.length} onPage=${(/** @type {number} */ n) => setQuery({ page: n === 1 ? '' : n })} />`}
  </section>
  ${e.source === 'DAEMON' && html`<section class="box"><h2>${t('runsNow')}</h2><${DaemonShards} shards=${rows.map((r) => r.shard)} jobZone=${jobZone} /></section>`}`
}

/** @param {any} shard */
const alive = (shard) => shard.taskId && ['RUNNING', 'LAUNCHING'].includes(shard.state)

/** @param {{r: import('../lib/spans.js').ShardSpans, width: number, progress: boolean, acts: boolean, app: string, jobZone: string, why: import('../lib/reasons.js').Answer, open: boolean, toggle: () => void, reload: () => void}} props */
function Row({ r, width, progress, acts, app, jobZone, why, open, toggle, reload }) {
  const nameOf = useAgentNames()
  const s = r.shard
  const cause = causeOf(s) || reasonOf(why)
  const wait = r.bars.at(-1)
  return html`<tbody class=${open ? 'open' : ''}><tr>
      <td class="pick"><button type="button" class="button plain icon small" aria-expanded=${open} aria-label=${t('details', { item: r.item })} onClick=${toggle}><span class="turn" aria-hidden="true">▸</span></button></td>
      <td class="num">${r.item}</td><td><${State} of=${s.state} /></td><td class="num">${s.attempt || ''}${r.attempts.at(-1)?.failover ? html` <span title=${t('failover')} aria-label=${t('failover')} role="img">⇄</span>` : ''}</td>
      ${progress && html`<td>${s.progress && html`<span class="progress one" title=${s.progress.message}>${!s.progress.notice && html`<span class="meter" aria-hidden="true"><span style=${{ width: `${100 * s.progress.fraction}%` }}></span></span>`}<span class="small">${!s.progress.notice && percent(Math.round(s.progress.fraction * 100) / 100)} <span class="muted">${s.progress.message}</span></span></span>`}</td>`}
      <td><${Time} at=${s.startTime} jobZone=${jobZone} none="" /></td>
      <td class="num">${s.startTime ? (s.completeTime ? duration(new Date(s.completeTime).getTime() - new Date(s.startTime).getTime()) : alive(s) ? html`<${Since} at=${s.startTime} />` : '') : wait?.kind === 'wait' && s.state === 'WAITING' ? html`<span class="muted">${duration(wait.to - wait.from)}</span>` : ''}</td>
      <td class="num">${s.exitStatus ?? ''}</td>
      <td title=${s.agent}><${Agent} id=${s.agent} class="cut fill narrow" /></td>
      <td>${s.taskId && html`<a href=${link.log(s.taskId)} aria-label=${`${t('log')}: ${t('shard')} ${r.item}`}>${t('log')}</a>`}</td>
      <td title=${cause}>${cause && html`<span class="cut fill wide">${cause}</span>`}</td>
      ${acts && html`<td class="row-acts">${alive(s) && html`<${ActButton} small danger noCurl label=${t('kill')} requests=${[{ method: 'POST', path: `/api/task/${seg(s.taskId)}/kill` }]} done=${t('killed', { item: r.item })} then=${reload} confirm=${{ title: t('killTitle', { item: r.item }), text: html`<p>${t('killText', { agent: nameOf(s.agent) })}</p>` }} />`}</td>`}
    </tr>
    ${open && html`<tr class="more"><td colspan=${width}><div class="stack tight">
      ${why?.reason && html`<div><h3>${t('waits')}</h3><${Reason} of=${why} app=${app} then=${reload} /></div>`}
      ${s.progress?.message && html`<p>${t('progress')}: ${s.progress.message}</p>`}
      <h3>${t('attempts')}</h3>
      <ol class="attempts">${[...r.attempts].reverse().map((a) => html`<li key=${a.taskId}><div class="row"><b>${a.attempt}</b><${State} of=${a.state} />${a.failover && html`<span>⇄ ${t('failover')}</span>`}<span class="muted"><${Time} at=${a.began ?? a.launched} jobZone=${jobZone} exact /></span>${a.began != null && a.ended != null && html`<span>${duration(a.ended - a.began)}</span>`}
        ${a.exitStatus != null && html`<span class="muted">${t('exit')} ${a.exitStatus}</span>`}<${Agent} id=${a.agent} /><a href=${link.log(a.taskId)}>${t('log')}</a></div>
        <div class="small muted">${t('task')} <code>${a.taskId}</code></div>${a.cause && html`<pre class="cause">${a.cause}</pre>`}</li>`)}</ol>
    </div></td></tr>`}
  </tbody>`
}
