// Actions on several jobs at once.
import { html, useState } from '../lib/html.js'
import { ApiError } from '../lib/api.js'
import { sendMany } from '../lib/many.js'
import { texts } from '../lib/texts.js'
import { Curl } from './curl.js'
import { Dialog } from './dialog.js'
import { jobActLabel, jobActNames, jobRequest, losses, mayDo } from './jobacts.js'
import { toast } from './toast.js'

const t = texts(
  {
    selected: '{n|job|jobs} selected', clear: 'Clear the selection', all: '{act}: {n|job|jobs}', title: '{act} {n|job|jobs}?', cancel: 'Cancel', close: 'Close', progress: '{done} of {all}',
    done: '{act}: {n|job|jobs} done', some: '{act}: {n|job|jobs} done, {bad} failed. {why}', each: 'One request for each, four at a time.', skipped: '{n|job is|jobs are} left out: it has no effect on them, or your role does not allow it.',
    remove: 'Their settings are removed permanently; their runs stay in the history.', curl: 'The same with curl', and: 'and {n} more', undo: 'It can be undone immediately afterwards.',
  },
  {
    selected: '已选择 {n} 个作业', clear: '清除选择', all: '{act}：{n} 个作业', title: '{act} {n} 个作业？', cancel: '取消', close: '关闭', progress: '{done} / {all}',
    done: '{act}：{n} 个作业已完成', some: '{act}：{n} 个作业已完成，{bad} 个失败。{why}', each: '每个作业一个请求，同时最多四个。', skipped: '跳过 {n} 个作业：对其无效，或无权限。',
    remove: '它们的配置将被永久删除，执行记录仍保留在历史中。', curl: '用 curl 完成同样的操作', and: '另有 {n} 个', undo: '完成后可以撤销。',
  },
)

/** @typedef {import('./jobtable.js').JobRow} JobRow */
/** @typedef {import('./jobacts.js').JobActName} JobActName */

/** @type {Partial<Record<JobActName, JobActName>>} */
const opposites = { pause: 'resume', resume: 'pause', enable: 'disable', disable: 'enable' }

/**
 * Selection is the bar with the actions on the selected jobs.
 * @param {{jobs: JobRow[], onClear: () => void, onDone: () => void}} props
 */
export function Selection({ jobs, onClear, onDone }) {
  const [asked, setAsked] = useState(/** @type {JobActName | null} */ (null))
  if (jobs.length === 0) return null
  const acts = jobActNames.filter((name) => name !== 'shutdown' && jobs.some((j) => mayDo(j, name)))
  return html`<div class="selection" role="region" aria-label=${t('selected', { n: jobs.length })}>
    <strong aria-live="polite">${t('selected', { n: jobs.length })}</strong>
    ${acts.map((name) => html`<button key=${name} type="button" class=${`button${name === 'delete' ? ' danger' : ''}`} onClick=${() => setAsked(name)}>${jobActLabel(name)}</button>`)}
    <button type="button" class="button plain" onClick=${onClear}>${t('clear')}</button>
    ${asked && html`<${Many} act=${asked} jobs=${jobs} onClose=${() => setAsked(null)} onDone=${onDone} />`}
  </div>`
}

/** @param {{act: JobActName, jobs: JobRow[], onClose: () => void, onDone: () => void}} props */
function Many({ act, jobs: all, onClose, onDone }) {
  const [jobs] = useState(() => all.filter((j) => mayDo(j, act))) // the jobs as they were when the dialog was opened
  const [done, setDone] = useState(-1)
  const requests = jobs.map((j) => jobRequest(j.jobName, act))
  const label = jobActLabel(act)
  const sum = (/** @type {(j: JobRow) => number} */ f) => jobs.reduce((n, j) => n + f(j), 0)
  const lost = act === 'disable' || act === 'delete' ? losses(sum((j) => j.running), sum((j) => j.waiting)) : ''
  const doIt = async () => {
    if (done >= 0) return
    setDone(0)
    const outcomes = await sendMany(requests, setDone)
    const bad = outcomes.flatMap((o, i) => (o.error ? [{ name: jobs[i].jobName, error: o.error }] : []))
    const good = jobs.filter((_, i) => !outcomes[i].error)
    const back = opposites[act]
    const undo = back && good.length > 0 ? () => void sendMany(good.map((j) => jobRequest(j.jobName, back)), () => {}).then(onDone) : undefined
    const why = bad.slice(0, 5).map(({ name, error }) => `${name}: ${error instanceof ApiError ? error.message : error}`).join('; ') + (bad.length > 5 ? `; ${t('and', { n: bad.length - 5 })}` : '')
    toast(t(bad.length ? 'some' : 'done', { act: label, n: good.length, bad: bad.length, why }), { error: bad.length > 0, undo })
    onDone()
    onClose()
  }
  const running = done >= 0
  return html`<${Dialog} title=${t('title', { act: label, n: jobs.length })} onClose=${() => !running && onClose()}
    acts=${html`<button type="button" class="button" disabled=${running} onClick=${onClose}>${t('cancel')}</button>
      <button type="button" class=${`button ${act === 'delete' || lost ? 'danger' : 'main'}`} disabled=${running} onClick=${doIt}>${running && html`<span class="busy"></span>`}${running ? t('progress', { done, all: jobs.length }) : t('all', { act: label, n: jobs.length })}</button>`}>
    ${lost && html`<p><strong>${lost}</strong></p>`}
    <p>${act === 'delete' ? `${t('remove')} ` : ''}${t('each')}${opposites[act] ? ` ${t('undo')}` : ''}</p>
    <ul class="names">${jobs.slice(0, 20).map((j) => html`<li key=${j.jobName} class="mono">${j.jobName}</li>`)}${jobs.length > 20 && html`<li class="muted">${t('and', { n: jobs.length - 20 })}</li>`}</ul>
    ${all.length > jobs.length && html`<p class="muted small">${t('skipped', { n: all.length - jobs.length })}</p>`}
    <details><summary class="small muted">${t('curl')}</summary><${Curl} requests=${requests} /></details>
  </${Dialog}>`
}
