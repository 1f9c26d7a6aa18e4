// Cordoned machines, on which no new tasks are placed. Machines that are draining or were declared dead are cordoned as well.
import { html, useState } from '../lib/html.js'
import { call, seg } from '../lib/api.js'
import { moment } from '../lib/format.js'
import { cordonForm, cordonRequest, machineActs } from '../lib/machines.js'
import { reasonOf } from '../lib/reasons.js'
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
    cordon: 'Cordon', uncordon: 'Uncordon', done: 'Nothing new is placed there.', undone: 'It is used again.', title: 'Cordon {host}?', help: 'Nothing new is placed on this machine; running shards go on. The mark stays when the agent restarts under another id and when another server leads.', reasonHelp: 'For everyone whose shards could run there', ends: 'Ends', endsBoth: 'Cordon and drain end', cancel: 'Cancel', same: 'The same with curl', note: 'cordoned since {since}: {why}', noteBy: 'cordoned since {since} by {by}: {why}', noteUntil: '{note} (until {until})',
    drain: 'Drain', changeDrain: 'Change drain', drainTitle: 'Drain {host}?', changeTitle: 'Change the drain of {host}', changed: 'The drain is changed.', kept: 'unchanged: {at}', drainHelp: 'Nothing new is placed on this machine, and what runs there leaves: shards of daemons move one at a time, when there is room elsewhere; others may finish. At the deadline the rest is stopped, and runs again elsewhere.', drainDone: 'The machine is being emptied.', deadline: 'Deadline', deadline0: 'none', noteDrains: '{note}; draining, {n} left', noteDrained: '{note}; drained', left: 'Left on machines that drain', job: 'Job', item: 'Shard', holds: 'What holds it up', dead: 'Declare dead', deadAnyway: 'Declare dead anyway', deadTitle: 'Is {host} gone for good?', deadHelp: 'All attempts on this machine are over at once: shards of daemons and of jobs with failover run elsewhere, others are lost. The machine stays cordoned.', deadRisk: 'If its processes still run, the work of their shards is done twice at the same time. Make sure that the machine is off.', deadDone: 'Attempts over: {n}.', optional: 'Reason (optional)', noteDead: 'declared dead at {since}', noteDeadBy: 'declared dead at {since} by {by}', noteWhy: '{note}: {why}', end0: 'when it is uncordoned', end1: 'in 1 hour', end4: 'in 4 hours', end24: 'in 1 day', end168: 'in 7 days',
  },
  {
    machines: '已停止调度的机器', machine: '主机', agent: 'Agent', since: '开始时间', by: '操作者', reason: '原因', until: '至', never: '恢复为止', away: '未出现', acts: '操作',
    cordon: '停止调度', uncordon: '恢复调度', done: '不再向它分配新任务。', undone: '已恢复使用。', title: '停止调度 {host}？', help: '不再向这台机器分配新任务，已在运行的任务继续运行。Agent 以新 ID 重启或更换主调度器后，此标记仍然有效。', reasonHelp: '供分片可能在此运行的所有人查看', ends: '结束', endsBoth: '停止调度和排空结束', cancel: '取消', same: '用 curl 完成同样的操作', note: '自 {since} 起停止调度：{why}', noteBy: '自 {since} 起由 {by} 停止调度：{why}', noteUntil: '{note}（至 {until}）',
    drain: '排空', changeDrain: '修改排空', drainTitle: '排空 {host}？', changeTitle: '修改 {host} 的排空', changed: '排空已修改。', kept: '不变：{at}', drainHelp: '不再向这台机器分配新任务，正在运行的任务移走：常驻作业的分片在别处有空间时逐个移动，其他分片可运行到结束。到截止时间仍未结束的会停止，并在别处重新运行。', drainDone: '正在排空这台机器。', deadline: '截止时间', deadline0: '无', noteDrains: '{note}；正在排空，剩余 {n} 个', noteDrained: '{note}；已排空', left: '排空中的机器上剩余的任务', job: '作业', item: '分片', holds: '未移走的原因', dead: '宣布永久失效', deadAnyway: '仍然宣布失效', deadTitle: '{host} 已永久失效？', deadHelp: '这台机器上的所有尝试立即视为结束：常驻作业和启用失效转移的作业，其分片在别处运行；其他分片视为丢失。这台机器保持停止调度。', deadRisk: '如果其进程仍在运行，这些分片的工作会同时执行两次。请确保机器已关机。', deadDone: '已结束的尝试：{n}。', optional: '原因（可选）', noteDead: '{since} 宣布永久失效', noteDeadBy: '{since} 由 {by} 宣布永久失效', noteWhy: '{note}：{why}', end0: '手动恢复时', end1: '1 小时后', end4: '4 小时后', end24: '1 天后', end168: '7 天后',
  },
)

/** @typedef {import('../lib/machines.js').Cordon} Cordon */
/** @typedef {import('../lib/machines.js').Left} Left */
/** @typedef {import('../lib/machines.js').End} End */
/** @typedef {{machine: string, agents: string[], cordon: Cordon}} Machine */

/**
 * cordonNote describes a cordon: since when, by whom and why, and how far the machine has drained.
 * @param {Cordon | undefined} cordon
 */
export function cordonNote(cordon) {
  if (!cordon) return ''
  if (cordon.dead) {
    const dead = t(cordon.by ? 'noteDeadBy' : 'noteDead', { since: moment(cordon.dead, ''), by: cordon.by })
    return cordon.reason ? t('noteWhy', { note: dead, why: cordon.reason }) : dead
  }
  let note = t(cordon.by ? 'noteBy' : 'note', { since: moment(cordon.since, ''), by: cordon.by, why: cordon.reason })
  if (cordon.drain) note = t(cordon.drain.drained ? 'noteDrained' : 'noteDrains', { note, n: cordon.drain.leftTotal })
  return cordon.until ? t('noteUntil', { note, until: moment(cordon.until, '') }) : note
}

/** @param {{host: string, then: () => void, small?: boolean}} props */
const Uncordon = ({ host, then, small }) => html`<${ActButton} small=${small} label=${t('uncordon')} requests=${[{ method: 'POST', path: `/api/agent/${seg(host)}/uncordon` }]} done=${t('undone')} then=${then} />`

/**
 * MachineActs shows the actions on a machine.
 * @param {{host: string, cordon: Cordon | undefined, then: () => void, small?: boolean}} props
 */
export function MachineActs({ host, cordon, then, small }) {
  const [asking, setAsking] = useState('')
  if (!host || !may('operator')) return null
  const onClose = () => setAsking('')
  const style = (/** @type {string} */ act) => `button${act === 'dead' ? ' danger' : ''}${small ? ' small' : ''}`
  return html`${machineActs(cordon).map((act) => (act === 'uncordon'
    ? html`<${Uncordon} key=${act} small=${small} host=${host} then=${then} />`
    : html`<button key=${act} type="button" class=${style(act)} onClick=${() => setAsking(act)}>${t(act)}</button>`))}
    ${asking === 'dead' && html`<${DeadDialog} host=${host} then=${then} onClose=${onClose} />`}
    ${asking && asking !== 'dead' && html`<${CordonDialog} act=${asking} host=${host} cordon=${cordon} then=${then} onClose=${onClose} />`}`
}

/**
 * CordonDialog asks why and until when a machine is cordoned or drained. It presets what the machine's present cordon has.
 * @param {{act: 'cordon' | 'drain' | 'changeDrain', host: string, cordon: Cordon | undefined, then: () => void, onClose: () => void}} props
 */
function CordonDialog({ act, host, cordon, then, onClose }) {
  const [busy, run] = useBusy()
  const [was] = useState(cordon)
  const [form, setForm] = useState(cordonForm(was))
  const [error, setError] = useState(/** @type {any} */ (null))
  const drains = act !== 'cordon'
  const set = (/** @type {Partial<typeof form>} */ fields) => setForm({ ...form, ...fields })
  const request = () => cordonRequest(host, drains, form, was, Date.now())
  const send = () => run(async () => {
    try {
      await call(request())
      toast(t(act === 'changeDrain' ? 'changed' : drains ? 'drainDone' : 'done'))
      then()
      onClose()
    } catch (e) {
      setError(e)
    }
  })
  const fault = error?.fields?.find((/** @type {any} */ f) => f.field === 'reason')?.message
  const others = error?.fields?.map((/** @type {any} */ f) => `${f.field}: ${f.message}`).join('; ')
  return html`<${Dialog} title=${t(act === 'changeDrain' ? 'changeTitle' : drains ? 'drainTitle' : 'title', { host })} onClose=${onClose} acts=${html`<button type="button" class="button" onClick=${onClose}>${t('cancel')}</button>
      <button type="button" class="button main" disabled=${busy || !form.reason.trim()} onClick=${send}>${busy && html`<span class="busy"></span>`}${t(act)}</button>`}>
    <p class="muted">${t(drains ? 'drainHelp' : 'help')}</p>
    <label class="field"><span class="label">${t('reason')}</span><input class="input" value=${form.reason} onInput=${(/** @type {any} */ e) => set({ reason: e.target.value })} autocomplete="off" />${fault ? html`<span class="error" role="alert">${fault}</span>` : html`<span class="help">${t('reasonHelp')}</span>`}</label>
    ${drains && html`<${EndField} label=${t('deadline')} never=${t('deadline0')} value=${form.deadline} was=${was?.drain?.deadline} onChange=${(/** @type {End} */ deadline) => set({ deadline })} />`}
    ${(!drains || was?.until) && html`<${EndField} label=${t(drains ? 'endsBoth' : 'ends')} never=${t('end0')} value=${form.until} was=${was?.until} onChange=${(/** @type {End} */ until) => set({ until })} />`}
    ${error && !fault && html`<p class="failed" role="alert">${others || error.message}</p>`}
    <details><summary class="small muted">${t('same')}</summary><${Curl} requests=${[request()]} /></details>
  </${Dialog}>`
}

const hours = /** @type {const} */ ([1, 4, 24, 168])

/**
 * EndField selects when something ends. If it has an end already, that one can be kept.
 * @param {{label: string, never: string, value: End, was: string | null | undefined, onChange: (end: End) => void}} props
 */
const EndField = ({ label, never, value, was, onChange }) => html`<label class="field"><span class="label">${label}</span>
  <select class="input" value=${value} onChange=${(/** @type {any} */ e) => onChange(e.target.value === 'kept' ? 'kept' : Number(e.target.value))}>
    ${was && html`<option value="kept">${t('kept', { at: moment(was, '') })}</option>`}
    <option value=${0}>${never}</option>
    ${hours.map((n) => html`<option key=${n} value=${n}>${t(`end${n}`)}</option>`)}
  </select></label>`

/**
 * DeadDialog asks whether a machine is gone permanently. It asks again if the server has heard from the machine recently. host may also
 * be the id of one of its agents, with the name that is shown.
 * @param {{host: string, name?: string, then: () => void, onClose: () => void}} props
 */
export function DeadDialog({ host, name = host, then, onClose }) {
  const [busy, run] = useBusy()
  const [reason, setReason] = useState('')
  const [error, setError] = useState(/** @type {any} */ (null))
  const heard = error?.status === 409
  const request = { method: 'POST', path: `/api/agent/${seg(host)}/dead`, body: { ...(reason.trim() && { reason }), ...(heard && { force: true }) } }
  const send = () => run(async () => {
    try {
      const { attemptsOver } = await call(request)
      toast(t('deadDone', { n: attemptsOver }))
      then()
      onClose()
    } catch (e) {
      setError(e)
    }
  })
  return html`<${Dialog} title=${t('deadTitle', { host: name })} onClose=${onClose} acts=${html`<button type="button" class="button" onClick=${onClose}>${t('cancel')}</button>
      <button type="button" class="button danger" disabled=${busy} onClick=${send}>${busy && html`<span class="busy"></span>`}${t(heard ? 'deadAnyway' : 'dead')}</button>`}>
    <p>${t('deadHelp')}</p><p>${t('deadRisk')}</p>
    <label class="field"><span class="label">${t('optional')}</span><input class="input" value=${reason} onInput=${(/** @type {any} */ e) => setReason(e.target.value)} autocomplete="off" /></label>
    ${error && html`<p class="failed" role="alert">${error.fields?.[0]?.message ?? error.message}</p>`}
    <details><summary class="small muted">${t('same')}</summary><${Curl} requests=${[request]} /></details>
  </${Dialog}>`
}

/**
 * Machines shows all cordoned machines, including those that are away.
 * @param {{machines: Machine[], then: () => void}} props
 */
export const Machines = ({ machines, then }) => machines.length > 0 && html`<section class="stack" id="machines" aria-label=${t('machines')}>
  <h2>${t('machines')}</h2>
  <${Table} label=${t('machines')} rows=${machines} id=${(/** @type {Machine} */ m) => m.machine} columns=${[
    { key: 'machine', label: t('machine'), cell: (/** @type {Machine} */ m) => (m.agents.length === 1 ? html`<a href=${link.agent(m.agents[0])}>${m.machine}</a>` : m.machine) },
    { key: 'since', label: t('since'), cell: (/** @type {Machine} */ m) => html`<${Time} at=${m.cordon.since} />` },
    { key: 'by', label: t('by'), cell: (/** @type {Machine} */ m) => m.cordon.by || html`<span class="muted">–</span>` },
    { key: 'reason', label: t('reason'), cell: (/** @type {Machine} */ m) => (m.cordon.dead || m.cordon.drain ? cordonNote(m.cordon) : m.cordon.reason), title: (/** @type {Machine} */ m) => cordonNote(m.cordon) },
    { key: 'until', label: t('until'), cell: (/** @type {Machine} */ m) => (m.cordon.until ? html`<${Time} at=${m.cordon.until} />` : html`<span class="muted">${t('never')}</span>`) },
    ...(may('operator') ? [{ key: 'acts', label: t('acts'), cell: (/** @type {Machine} */ m) => html`<span class="machine-acts"><${MachineActs} small host=${m.machine} cordon=${m.cordon} then=${then} /></span>` }] : []),
    { key: 'agent', label: t('agent'), cell: (/** @type {Machine} */ m) => (m.agents.length > 0 ? html`<span class="mono muted">${m.agents.join(', ')}</span>` : html`<span class="muted">${t('away')}</span>`), title: (/** @type {Machine} */ m) => m.agents.join(', ') },
  ]} />
  <${LeftOn} machines=${machines} />
</section>`

/** LeftOn shows the tasks that are left on draining machines, each with the reason why it has not moved. @param {{machines: Machine[]}} props */
function LeftOn({ machines }) {
  const rows = machines.flatMap((m) => (m.cordon.drain?.left ?? []).map((l) => ({ ...l, machine: m.machine })))
  return rows.length > 0 && html`<h3>${t('left')}</h3><${Table} label=${t('left')} rows=${rows} id=${(/** @type {Left} */ l) => l.taskId} columns=${[
    { key: 'machine', label: t('machine'), cell: (/** @type {any} */ l) => l.machine },
    { key: 'job', label: t('job'), cell: (/** @type {Left} */ l) => html`<a href=${link.job(l.jobName)}>${l.jobName}</a>`, title: (/** @type {Left} */ l) => l.jobName },
    { key: 'item', label: t('item'), num: true, cell: (/** @type {Left} */ l) => l.item },
    { key: 'holds', label: t('holds'), cell: (/** @type {Left} */ l) => reasonOf(l), title: (/** @type {Left} */ l) => reasonOf(l) },
  ]} />`
}
