// The actions on a job, on its page.
import { html, useState } from '../lib/html.js'
import { go } from '../lib/router.js'
import { may } from '../lib/session.js'
import { texts } from '../lib/texts.js'
import { ActButton, Confirm, perform, useBusy } from '../pieces/act.js'
import { Icon } from '../pieces/icon.js'
import { jobAct, mayDo } from '../pieces/jobacts.js'
import { Menu } from '../pieces/menu.js'
import { link } from '../routes.js'
import { Own, triggered } from './trigger.js'

const t = texts({ edit: 'Edit', copy: 'Copy', more: 'More', moreOf: 'More for {job}' }, { edit: '编辑', copy: '复制', more: '更多', moreOf: '{job} 的更多操作' })

/** @typedef {import('../pieces/jobacts.js').KnownJob} KnownJob */
/** @typedef {import('../pieces/jobacts.js').JobActName} JobActName */

/**
 * jobActs returns the actions that are possible now: the main one and the others.
 * @param {{doc: any, explain: any, changed: () => void}} props
 */
export function jobActs({ doc, explain, changed }) {
  /** @type {KnownJob} */
  const job = { ...doc, state: explain.state, running: explain.running.length, waiting: explain.waiting.length }
  const can = (/** @type {JobActName} */ name) => mayDo(job, name)
  const button = (/** @type {JobActName} */ name) => can(name) && html`<${ActButton} key=${name} ...${jobAct(job, name)} main=${name === 'enable'} then=${changed} />`
  const main = can('trigger') && html`<${ActButton} ...${jobAct(job, 'trigger')} main done="" then=${(/** @type {any[]} */ [answer]) => (triggered(answer.executionId), changed())} />`
  const seldom = /** @type {JobActName[]} */ (['disable', 'shutdown', 'delete']).filter(can)
  const publishes = may('admin', doc.appName)
  const others = html`
    ${can('trigger') && html`<${Own} doc=${doc} done=${changed} />`}
    ${button('resume')}${button('pause')}${button('enable')}
    ${publishes && html`<a class="button" href=${link.editJob(job.jobName)}><${Icon} name="edit" />${t('edit')}</a>`}
    ${(publishes || seldom.length > 0) && html`<${Seldom} job=${job} acts=${seldom} copies=${publishes} changed=${changed} />`}`
  return { main, others }
}

/**
 * Seldom is the menu with the less frequent actions.
 * @param {{job: KnownJob, acts: JobActName[], copies: boolean, changed: () => void}} props
 */
function Seldom({ job, acts, copies, changed }) {
  const [asking, setAsking] = useState(/** @type {import('../pieces/act.js').Act | null} */ (null))
  const [, run] = useBusy()
  const items = acts.map((name) => {
    const act = { ...jobAct(job, name), then: name === 'delete' ? () => go('/jobs') : changed }
    return { label: act.label, icon: act.icon, danger: act.danger, run: () => (act.confirm ? setAsking(act) : void run(() => perform(act))) }
  })
  return html`<${Menu} label=${t('moreOf', { job: job.jobName })} text=${t('more')} items=${[...(copies ? [{ label: t('copy'), icon: /** @type {const} */ ('copy'), to: link.copyJob(job.jobName) }] : []), ...items]} />
    ${asking && html`<${Confirm} act=${asking} onClose=${() => setAsking(null)} />`}`
}
