// Machines that are taken out of use: nothing new is placed on a cordoned one.
import { html, useState } from '../lib/html.js'
import { call, seg } from '../lib/api.js'
import { moment } from '../lib/format.js'
import { may } from '../lib/session.js'
import { texts } from '../lib/texts.js'
import { ActButton, useBusy } from '../pieces/act.js'
import { Curl } from '../pieces/curl.js'
import { Dialog } from '../pieces/dialog.js'
import { Table } from '../pieces/table.js'
import { Time } from '../pieces/time.js'
import { toast } from '../pieces/toast.js'
import { link } from '../routes.js'

const t = texts(
  {
    machines: 'Cordoned machines', machine: 'Host', agent: 'Agent', since: 'Since', by: 'By', reason: 'Reason', until: 'Until', never: 'uncordoned', away: 'not seen', acts: 'Actions',
    cordon: 'Cordon', uncordon: 'Uncordon', done: 'Nothing new is placed there.', undone: 'It is used again.', title: 'Cordon {host}?', help: 'Nothing new is placed on this machine; what runs there goes on. The mark stays when the agent restarts under another id and when another server leads.', reasonHelp: 'For everyone whose shards could run there', ends: 'Ends', cancel: 'Cancel', same: 'The same with curl', note: 'cordoned since {since}: {why}', noteBy: 'cordoned since {since} by {by}: {why}', noteUntil: '{note} (until {until})',
    end0: 'when it is uncordoned', end1: 'in 1 hour', end4: 'in 4 hours', end24: 'in 1 day', end168: 'in 7 days',
  },
  {
    machines: '已停止调度的机器', machine: '主机', agent: 'Agent', since: '开始时间', by: '操作者', reason: '原因', until: '至', never: '恢复为止', away: '未出现', acts: '操作',
    cordon: '停止调度', uncordon: '恢复调度', done: '不再向它分配新任务。', undone: '已恢复使用。', title: '停止调度 {host}？', help: '不再向这台机器分配新任务，已在运行的任务继续运行。Agent 以新 ID 重启或更换主调度器后，此标记仍然有效。', reasonHelp: '供分片可能在此运行的所有人查看', ends: '结束', cancel: '取消', same: '用 curl 完成同样的操作', note: '自 {since} 起停止调度：{why}', noteBy: '自 {since} 起由 {by} 停止调度：{why}', noteUntil: '{note}（至 {until}）',
    end0: '手动恢复时', end1: '1 小时后', end4: '4 小时后', end24: '1 天后', end168: '7 天后',
  },
)

/** @typedef {{since: string, by: string, reason: string, until: string | null}} Cordon */
/** @typedef {{machine: string, agents: string[], cordon: Cordon}} Machine */

/**
 * cordonNote says since when, by whom and why a machine is cordoned.
 * @param {Cordon | undefined} cordon
 */
export function cordonNote(cordon) {
  if (!cordon) return ''
  const note = t(cordon.by ? 'noteBy' : 'note', { since: moment(cordon.since, ''), by: cordon.by, why: cordon.reason })
  return cordon.until ? t('noteUntil', { note, until: moment(cordon.until, '') }) : note
}

/** @param {{host: string, then: () => void, small?: boolean}} props */
const Uncordon = ({ host, then, small }) => html`<${ActButton} small=${small} label=${t('uncordon')} requests=${[{ method: 'POST', path: `/api/agent/${seg(host)}/uncordon` }]} done=${t('undone')} then=${then} />`

/**
 * MachineActs are what can be done to a machine.
 * @param {{host: string, cordon: Cordon | undefined, then: () => void}} props
 */
export function MachineActs({ host, cordon, then }) {
  const [asking, setAsking] = useState(false)
  if (!host || !may('operator')) return null
  if (cordon) return html`<${Uncordon} host=${host} then=${then} />`
  return html`<button type="button" class="button" onClick=${() => setAsking(true)}>${t('cordon')}</button>
    ${asking && html`<${CordonDialog} host=${host} then=${then} onClose=${() => setAsking(false)} />`}`
}

const hours = /** @type {const} */ ([0, 1, 4, 24, 168])

/** @param {{host: string, then: () => void, onClose: () => void}} props */
function CordonDialog({ host, then, onClose }) {
  const [busy, run] = useBusy()
  const [reason, setReason] = useState('')
  const [end, setEnd] = useState(0)
  const [error, setError] = useState(/** @type {any} */ (null))
  const until = end ? { until: new Date(Date.now() + end * 3_600_000).toISOString().replace(/\.\d+Z/, 'Z') } : {}
  const request = { method: 'POST', path: `/api/agent/${seg(host)}/cordon`, body: { reason, ...until } }
  const send = () => run(async () => {
    try {
      await call(request)
      toast(t('done'))
      then()
      onClose()
    } catch (e) {
      setError(e)
    }
  })
  const fault = error?.fields?.find((/** @type {any} */ f) => f.field === 'reason')?.message
  return html`<${Dialog} title=${t('title', { host })} onClose=${onClose} acts=${html`<button type="button" class="button" onClick=${onClose}>${t('cancel')}</button>
      <button type="button" class="button main" disabled=${busy || !reason.trim()} onClick=${send}>${busy && html`<span class="busy"></span>`}${t('cordon')}</button>`}>
    <p class="muted">${t('help')}</p>
    <label class="field"><span class="label">${t('reason')}</span><input class="input" value=${reason} onInput=${(/** @type {any} */ e) => setReason(e.target.value)} autocomplete="off" />${fault ? html`<span class="error" role="alert">${fault}</span>` : html`<span class="help">${t('reasonHelp')}</span>`}</label>
    <label class="field"><span class="label">${t('ends')}</span><select class="input" value=${end} onChange=${(/** @type {any} */ e) => setEnd(Number(e.target.value))}>${hours.map((n) => html`<option value=${n}>${t(`end${n}`)}</option>`)}</select></label>
    ${error && !fault && html`<p class="failed" role="alert">${error.message}</p>`}
    <details><summary class="small muted">${t('same')}</summary><${Curl} requests=${[request]} /></details>
  </${Dialog}>`
}

/**
 * Machines are all cordoned machines, also those that are away.
 * @param {{machines: Machine[], then: () => void}} props
 */
export const Machines = ({ machines, then }) => machines.length > 0 && html`<section class="stack" id="machines" aria-label=${t('machines')}>
  <h2>${t('machines')}</h2>
  <${Table} label=${t('machines')} rows=${machines} id=${(/** @type {Machine} */ m) => m.machine} columns=${[
    { key: 'machine', label: t('machine'), cell: (/** @type {Machine} */ m) => (m.agents.length === 1 ? html`<a href=${link.agent(m.agents[0])}>${m.machine}</a>` : m.machine) },
    { key: 'agent', label: t('agent'), cell: (/** @type {Machine} */ m) => (m.agents.length > 0 ? html`<span class="mono muted">${m.agents.join(', ')}</span>` : html`<span class="muted">${t('away')}</span>`), title: (/** @type {Machine} */ m) => m.agents.join(', ') },
    { key: 'since', label: t('since'), cell: (/** @type {Machine} */ m) => html`<${Time} at=${m.cordon.since} />` },
    { key: 'by', label: t('by'), cell: (/** @type {Machine} */ m) => m.cordon.by || html`<span class="muted">–</span>` },
    { key: 'reason', label: t('reason'), cell: (/** @type {Machine} */ m) => m.cordon.reason, title: (/** @type {Machine} */ m) => m.cordon.reason },
    { key: 'until', label: t('until'), cell: (/** @type {Machine} */ m) => (m.cordon.until ? html`<${Time} at=${m.cordon.until} />` : html`<span class="muted">${t('never')}</span>`) },
    ...(may('operator') ? [{ key: 'acts', label: t('acts'), cell: (/** @type {Machine} */ m) => html`<${Uncordon} small host=${m.machine} then=${then} />` }] : []),
  ]} />
</section>`
