// The content of an app's package, which the server fetches and examines.
import { html, useState } from '../lib/html.js'
import { ApiError, call } from '../lib/api.js'
import { duration, number, size } from '../lib/format.js'
import { texts } from '../lib/texts.js'
import { useBusy } from './act.js'
import { Copy } from './curl.js'
import { useForm } from './field.js'
import { Icon } from './icon.js'

const t = texts(
  {
    title: 'The package', help: 'The server fetches and checks it; nothing is published.', check: 'Check the package', size: 'Size', sha: 'SHA-256', format: 'Format', script: 'Script', took: 'Fetched in', found: '{path}, executable', foundBy: '{path}, run by {interpreter}', notExecutable: '{path} is not executable', notFound: '{path} is not in it',
    files: '{n|file|files}', take: 'Pin this package', pinned: 'This is the one that is pinned', name: 'File', bytes: 'Size', executable: 'executable', more: 'and {n} more', good: 'It can be published.', failed: 'It could not be checked: {why}', wrong: '{n|problem|problems}',
  },
  {
    title: '应用包', help: '由调度器下载并检查，不会因此发布。', check: '检查应用包', size: '大小', sha: 'SHA-256', format: '格式', script: '启动脚本', took: '下载耗时', found: '{path}，可执行', foundBy: '{path}，由 {interpreter} 运行', notExecutable: '{path} 不可执行', notFound: '其中没有 {path}',
    files: '{n} 个文件', take: '固定此应用包', pinned: '已固定为此应用包', name: '文件', bytes: '大小', executable: '可执行', more: '另有 {n} 个', good: '可以发布。', failed: '无法检查：{why}', wrong: '{n} 个问题',
  },
)

/** @typedef {{size: number, sha256: string, format: string, files: {name: string, size: number, executable: boolean}[], filesTotal: number, script: {path: string, found: boolean, executable: boolean, interpreter: string}, problems: import('../lib/api.js').Violation[], millis: number}} PackageView */

/** PackageCheck is the panel with the button, in the form of an app. */
export function PackageCheck() {
  const form = useForm()
  const [busy, run] = useBusy()
  const [found, setFound] = useState(/** @type {{view?: PackageView, error?: string, url: string} | null} */ (null))
  const url = String(form.doc.appURL ?? '')
  const check = () =>
    run(async () => {
      try {
        /** @type {PackageView} */
        const view = await call({ method: 'POST', path: '/api/app/check', body: form.doc })
        setFound({ view, url })
        form.refuse(view.problems)
      } catch (e) {
        const error = /** @type {ApiError} */ (e)
        form.refuse(error.fields ?? [])
        setFound({ url, error: (error.fields ?? []).map((f) => `${f.field}: ${f.message}`).join('; ') || error.message })
      }
    })
  const current = found?.url === url ? found : null
  return html`<section class="box package" aria-live="polite"><h2>${t('title')}</h2>
    <div class="stack">
      <p class="small muted">${t('help')}</p>
      <div><button type="button" class="button" disabled=${busy || form.disabled || !url} onClick=${check}>${busy ? html`<span class="busy"></span>` : html`<${Icon} name="search" />`}${t('check')}</button></div>
      ${current?.error && html`<p class="bad">${t('failed', { why: current.error })}</p>`}
      ${current?.view && html`<${PackageFacts} view=${current.view} pinned=${form.doc.appSHA256} pin=${() => form.set('appSHA256', current.view?.sha256)} />`}
    </div>
  </section>`
}

/**
 * PackageFacts shows the result of a check.
 * @param {{view: PackageView, pinned?: string, pin: () => void}} props
 */
function PackageFacts({ view, pinned, pin }) {
  const { script } = view
  const scriptText = !script.found ? t('notFound', { path: script.path }) : script.interpreter ? t('foundBy', script) : t(script.executable ? 'found' : 'notExecutable', script)
  return html`${view.problems.length ? html`<div class="bad"><strong>${t('wrong', { n: view.problems.length })}</strong><ul>${view.problems.map((p) => html`<li key=${p.field + p.message}><code>${p.field}</code> ${p.message}</li>`)}</ul></div>` : html`<p class="good">✓ ${t('good')}</p>`}
    <dl class="facts">
      <dt>${t('script')}</dt><dd class=${script.found && (script.executable || script.interpreter) ? '' : 'bad'}>${scriptText}</dd>
      <dt>${t('size')}</dt><dd>${size(view.size)}, ${view.format}</dd>
      <dt>${t('took')}</dt><dd>${duration(view.millis)}</dd>
      <dt>${t('sha')}</dt><dd><code>${view.sha256}</code> <span class="row"><${Copy} text=${view.sha256} />${pinned === view.sha256 ? html`<span class="small muted">${t('pinned')}</span>` : html`<button type="button" class="button small" onClick=${pin}>${t('take')}</button>`}</span></dd>
    </dl>
    <details><summary>${t('files', { n: view.filesTotal })}</summary><ul class="names mono">${view.files.map((f) => html`<li key=${f.name} class="row spread"><span>${f.name}${f.executable ? html` <span class="muted">(${t('executable')})</span>` : ''}</span><span class="muted nowrap">${size(f.size)}</span></li>`)}
      ${view.filesTotal > view.files.length && html`<li class="muted">${t('more', { n: number(view.filesTotal - view.files.length) })}</li>`}</ul></details>`
}
