// The command palette, which finds any job, app or page with a few keys.
import { within } from '../lib/base.js'
import { html, useEffect, useId, useRef, useState } from '../lib/html.js'
import { get, loginNeeded, withQuery } from '../lib/api.js'
import { patiently } from '../lib/retry.js'
import { go } from '../lib/router.js'
import { signal, useSignal } from '../lib/signal.js'
import { texts } from '../lib/texts.js'
import { mayAny } from '../lib/session.js'
import { Dialog } from '../pieces/dialog.js'
import { link } from '../routes.js'
import { sectionName, sections, themeName, turnLanguage, turnTheme, turnZone, zoneName } from './nav.js'

const t = texts(
  { title: 'Go to', placeholder: 'A job, an app, a page', page: 'page', job: 'job', app: 'app', action: 'action', register: 'Register a job', publish: 'Publish an app', language: 'Language: 中文', docs: 'API: every route, with curl lines', none: 'No match' },
  { title: '跳转', placeholder: '作业、应用或页面', page: '页面', job: '作业', app: '应用', action: '操作', register: '注册作业', publish: '发布应用', language: '语言：English', docs: 'API：所有接口及 curl 命令', none: '没有匹配的名称' },
)

const open = signal(false)

/** showPalette opens the palette. */
export const showPalette = () => open.set(true)

/** usePalette opens the palette when the user presses `/` or Ctrl-K. */
export function usePalette() {
  const is = useSignal(open)
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ e) => {
      const typing = /** @type {HTMLElement} */ (e.target).closest?.('input, textarea, select, [contenteditable]')
      const wanted = (e.key.toLowerCase() === 'k' && (e.ctrlKey || e.metaKey)) || (e.key === '/' && !typing && !e.ctrlKey && !e.metaKey && !e.altKey)
      if (!wanted || document.querySelector('dialog[open]') || loginNeeded.get()) return
      e.preventDefault()
      open.set(true)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
  return { open: is, show: showPalette, hide: () => open.set(false) }
}

/** @typedef {{text: string, kind: string, run: () => void}} Entry */

/** @param {{onClose: () => void}} props */
export function Palette({ onClose }) {
  const [typed, setTyped] = useState('')
  const [found, setFound] = useState(/** @type {Entry[]} */ ([]))
  const [at, setAt] = useState(0)
  const input = useRef(/** @type {HTMLInputElement | null} */ (null))
  const id = useId()
  useEffect(() => input.current?.focus(), [])
  useEffect(() => {
    const abort = new AbortController()
    const show = (/** @type {Entry[]} */ entries) => {
      setFound(entries)
      setAt(0)
    }
    search(typed, abort.signal, show).then(show, () => {})
    return () => abort.abort()
  }, [typed])
  const run = (/** @type {Entry | undefined} */ entry) => {
    if (!entry) return
    onClose()
    entry.run()
  }
  const press = (/** @type {KeyboardEvent} */ e) => {
    if (e.key === 'ArrowDown') setAt(Math.min(at + 1, found.length - 1))
    else if (e.key === 'ArrowUp') setAt(Math.max(at - 1, 0))
    else if (e.key === 'Enter') run(found[at])
    else return
    e.preventDefault()
  }
  return html`<${Dialog} title=${t('title')} class="palette" onClose=${onClose}>
    <input ref=${input} role="combobox" aria-expanded="true" aria-controls=${id} aria-label=${t('placeholder')} aria-activedescendant=${found[at] ? `${id}-${at}` : undefined} placeholder=${t('placeholder')}
      value=${typed} autocomplete="off" spellcheck="false" onInput=${(/** @type {any} */ e) => setTyped(e.target.value)} onKeyDown=${press} />
    <div id=${id} role="listbox" aria-label=${t('title')}>
      ${found.map((entry, i) => html`<div key=${entry.kind + entry.text} id=${`${id}-${i}`} role="option" aria-selected=${i === at} onPointerMove=${() => setAt(i)} onClick=${() => run(entry)}><span class="cut">${entry.text}</span><span class="kind">${entry.kind}</span></div>`)}
    </div>
    ${found.length === 0 && typed && html`<p class="muted">${t('none')}</p>`}
  </${Dialog}>`
}

/**
 * search finds pages and actions here, and jobs and apps on the server, by parts of their names.
 * @param {string} typed
 * @param {AbortSignal} signal
 * @param {(own: Entry[]) => void} meanwhile is called with the console's own entries, before the server has answered
 * @returns {Promise<Entry[]>}
 */
async function search(typed, signal, meanwhile) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const fits = (/** @type {string} */ text) => words.every((w) => text.toLowerCase().includes(w))
  const to = (/** @type {string} */ address) => () => go(address)
  /** @type {Entry[]} */
  const own = [
    ...sections().map((s) => ({ text: sectionName(s.id), kind: t('page'), run: to(s.to) })),
    ...(mayAny('admin') ? [{ text: t('register'), kind: t('action'), run: to('/jobs/new') }, { text: t('publish'), kind: t('action'), run: to('/apps/new') }] : []),
    { text: t('docs'), kind: t('page'), run: () => location.assign(within('/api/docs')) },
    { text: themeName(), kind: t('action'), run: turnTheme },
    { text: t('language'), kind: t('action'), run: turnLanguage },
    { text: zoneName(), kind: t('action'), run: turnZone },
  ].filter((e) => fits(e.text))
  if (!words.length) return own
  const ask = (/** @type {string} */ path, /** @type {any} */ none) => patiently(() => get(path, signal), signal, () => meanwhile(own)).catch(() => none)
  const [jobs, apps] = await Promise.all([ask(withQuery('/api/jobs', { search: typed, per_page: 8 }), { rows: [] }), ask('/api/app/list', [])])
  if (signal.aborted) throw new Error('typed on')
  return [
    ...jobs.rows.map((/** @type {any} */ j) => ({ text: j.jobName, kind: t('job'), run: to(link.job(j.jobName)) })),
    ...apps.filter((/** @type {any} */ a) => fits(a.appName)).slice(0, 5).map((/** @type {any} */ a) => ({ text: a.appName, kind: t('app'), run: to(link.app(a.appName)) })),
    ...own,
  ]
}
