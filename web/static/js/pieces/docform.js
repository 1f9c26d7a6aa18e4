// A form, and beside it the same document as JSON, which can also be edited. The form asks before the user leaves with changes. Before
// it saves an edit, it shows what the edit changes, and what others have changed meanwhile.
import { html, useEffect, useMemo, useRef, useState } from '../lib/html.js'
import { ApiError, call } from '../lib/api.js'
import { same } from '../lib/diff.js'
import { changeOf, rebased, withField } from '../lib/document.js'
import { parseObject, pretty } from '../lib/json.js'
import { notesOf } from '../lib/reasons.js'
import { patiently } from '../lib/retry.js'
import { go, guardLeaving } from '../lib/router.js'
import { texts } from '../lib/texts.js'
import { useBusy } from './act.js'
import { useDelayed } from './cron.js'
import { Curl } from './curl.js'
import { Dialog } from './dialog.js'
import { Diff } from './diff.js'
import { FormContext } from './field.js'
import { JSONEditor } from './json.js'
import { toast } from './toast.js'

const t = texts(
  {
    json: 'The same as JSON', jsonHelp: 'Form and JSON edit one document. Fields that are left out have their defaults.', broken: 'The JSON can’t be read; correct it to use the form.', problems: 'To be corrected', review: 'Review and save', cancel: 'Cancel', curl: 'The same with curl',
    changes: 'What will change', save: 'Save the changes', unchanged: 'Nothing is changed yet.', saved: '{name} was saved', made: '{name} was created', failed: 'Not saved: {why}', leaveTitle: 'Leave without saving?', leave: 'Leave', stay: 'Stay here', leaveText: 'Your changes here are lost.',
    theirs: 'Another user has changed this meanwhile', take: 'Apply their changes', both: 'Changed by you and another user: {fields}. Your values are saved.', was: 'When you started', isNow: 'Now', gone: 'It was deleted meanwhile.',
  },
  {
    json: '对应的 JSON', jsonHelp: '表单与 JSON 编辑同一份文档，未写的字段取默认值。', broken: 'JSON 无法解析，修正后才能继续使用表单。', problems: '需要修正', review: '检查并保存', cancel: '取消', curl: '用 curl 完成同样的操作',
    changes: '将要修改的内容', save: '保存修改', unchanged: '尚未修改。', saved: '已保存 {name}', made: '已创建 {name}', failed: '未保存：{why}', leaveTitle: '不保存就离开？', leave: '离开', stay: '留在此页', leaveText: '在此所做的修改将丢失。',
    theirs: '其间有其他人修改了它', take: '采用这些修改', both: '您与其他人都修改了：{fields}。将保存您的值。', was: '您开始时', isNow: '现在', gone: '它已被删除。',
  },
)

/** @typedef {import('../lib/document.js').Doc} Doc */
/** @typedef {import('../lib/api.js').Violation} Violation */

/**
 * @typedef {object} DocFormProps
 * @property {Doc} first the document with which the form begins; for an edit, the stored one
 * @property {import('../lib/resource.js').Resource<Doc>} [stored] the document that is edited, as it is stored now
 * @property {string} nameField
 * @property {string} saveLabel the label of the button that saves a new document
 * @property {(body: Doc, update: boolean) => import('../lib/api.js').Request} request returns the request that saves the document; the body of an update has only the changed fields
 * @property {(body: Doc, update: boolean) => import('../lib/api.js').Request} [check] returns the request that checks the document while the user types
 * @property {(name: string) => string} to returns the address to show after saving
 * @property {string} back the address of Cancel
 * @property {(doc: Doc, checked: any) => any} children the groups of fields; checked is the last answer of check
 * @property {(doc: Doc, checked: any) => any} [side] what is shown beside them, above the JSON
 */

/** @param {DocFormProps} props */
export function DocForm({ first, stored, nameField, saveLabel, request, check, to, back, children, side }) {
  const update = stored !== undefined
  const [base, setBase] = useState(first)
  const [doc, setDoc] = useState(first)
  const [text, setText] = useState(() => pretty(first))
  const [touched, setTouched] = useState(/** @type {Set<string>} */ (new Set()))
  const [all, setAll] = useState(update)
  const [refused, setRefused] = useState(/** @type {Violation[]} */ ([]))
  const [reviewing, setReviewing] = useState(false)
  const [leaving, setLeaving] = useState(/** @type {{leave: () => void} | null} */ (null))
  const [busy, run] = useBusy()
  const box = useRef(/** @type {HTMLFormElement | null} */ (null))
  const { problem } = useMemo(() => parseObject(text), [text])
  const body = update ? changeOf(base, doc, nameField) : doc
  const dirty = !same(doc, base) || (problem !== undefined && text !== pretty(base))
  const [checked, found, about] = useCheck(check && !problem && (dirty || update) ? check(body, update) : null)
  // The violations of a field that has changed since are not shown, because the answer for the new value is still to come.
  const wrong = found.filter(({ field }) => same(about[rootOf(field)], body[rootOf(field)]))
  const violations = [...wrong, ...refused.filter((r) => !wrong.some((w) => w.field === r.field))]
  useLeaving(dirty, (leave) => setLeaving({ leave }))

  const show = (/** @type {Doc} */ next) => {
    setDoc(next)
    setText(pretty(next))
  }
  const fields = useRef(/** @type {Set<string>} */ (new Set()))
  fields.current = new Set()
  /** @type {import('./field.js').Form} */
  const form = {
    doc,
    disabled: problem !== undefined || busy,
    set: (field, value) => {
      setRefused(refused.filter((r) => r.field !== field && !isWithin(r.field, field)))
      show(withField(doc, field, value))
    },
    errors: (field) => {
      const of = violations.filter((v) => v.field === field || (field !== 'props' && field !== 'env' && isWithin(v.field, field)))
      for (const v of of) fields.current.add(v.field)
      return all || touched.has(field) ? of : []
    },
    refuse: (found) => {
      setAll(true)
      setRefused(found)
    },
    touch: (field) => setTouched(new Set([...touched, field])),
  }
  const typed = (/** @type {string} */ next) => {
    setText(next)
    setAll(true)
    const { value } = parseObject(next)
    if (value) setDoc(value)
  }
  const save = () =>
    run(async () => {
      setAll(true)
      try {
        const answer = await call(request(body, update))
        guardLeaving(null)
        const name = answer?.[nameField] ?? doc[nameField]
        toast([t(update ? 'saved' : 'made', { name }), ...notesOf(answer)].join('. '))
        go(to(name))
      } catch (e) {
        const error = /** @type {ApiError} */ (e)
        setReviewing(false)
        const found = violationsOf(error)
        setRefused(found)
        if (!found.length) toast(t('failed', { why: error.message }), { error: true })
        else requestAnimationFrame(() => /** @type {HTMLElement | null | undefined} */ (box.current?.querySelector('[aria-invalid="true"]'))?.focus())
      }
    })
  const submit = (/** @type {Event} */ e) => {
    e.preventDefault()
    if (problem) return
    if (update) setReviewing(true)
    else void save()
  }
  const theirs = stored?.data !== undefined && !same(stored.data, base) ? stored.data : null
  const takeOver = () => {
    if (!theirs) return
    show(rebased(base, theirs, doc).doc)
    setBase(theirs)
  }
  const both = theirs ? rebased(base, theirs, doc).both : []
  const meanwhile = theirs && html`<div class="notice warning" role="status"><h2>${t('theirs')}</h2><${Diff} before=${base} after=${theirs} heads=${[t('was'), t('isNow')]} />
    ${both.length > 0 && html`<p>${t('both', { fields: both.join(', ') })}</p>`}
    <button type="button" class="button" onClick=${takeOver}>${t('take')}</button></div>`
  return html`<${FormContext.Provider} value=${form}>
    ${meanwhile}
    ${update && stored.error && /** @type {any} */ (stored.error).status === 404 && html`<div class="notice error" role="alert">${t('gone')}</div>`}
    <form class="doc-form" ref=${box} onSubmit=${submit} novalidate>
      <div class="stack">${children(doc, checked)}<${Rest} violations=${violations} placed=${fields} show=${all} /></div>
      <div class="stack aside">
        ${side?.(doc, checked)}
        <section class="box"><h2>${t('json')}</h2><p class="small muted">${t('jsonHelp')}</p>
          <${JSONEditor} text=${text} problem=${problem} onInput=${typed} />
        </section>
      </div>
      <div class="form-foot">
        <button class="button main" disabled=${busy || problem !== undefined || (update && !dirty)}>${busy && html`<span class="busy"></span>`}${update ? t('review') : saveLabel}</button>
        <a class="button" href=${back}>${t('cancel')}</a>
        ${problem ? html`<span class="bad small">${t('broken')}</span>` : update && !dirty ? html`<span class="muted small">${t('unchanged')}</span>` : html`<details class="grow"><summary class="small muted">${t('curl')}</summary><${Curl} requests=${[request(body, update)]} /></details>`}
      </div>
    </form>
    ${reviewing && html`<${Dialog} title=${t('changes')} wide onClose=${() => setReviewing(false)}
      acts=${html`<button type="button" class="button" onClick=${() => setReviewing(false)}>${t('cancel')}</button><button type="button" class="button main" disabled=${busy} onClick=${save}>${busy && html`<span class="busy"></span>`}${t('save')}</button>`}>
      <${Diff} before=${base} after=${doc} />${meanwhile}<${Curl} requests=${[request(body, update)]} />
    </${Dialog}>`}
    ${leaving && html`<${Dialog} title=${t('leaveTitle')} onClose=${() => setLeaving(null)}
      acts=${html`<button type="button" class="button" onClick=${() => setLeaving(null)}>${t('stay')}</button><button type="button" class="button danger" onClick=${leaving.leave}>${t('leave')}</button>`}><p>${t('leaveText')}</p></${Dialog}>`}
  </${FormContext.Provider}>`
}

/**
 * Rest shows the violations of fields that the form does not have, such as unknown fields. It is drawn after all fields.
 * @param {{violations: Violation[], placed: {current: Set<string>}, show: boolean}} props
 */
function Rest({ violations, placed, show }) {
  const rest = violations.filter((v) => !placed.current.has(v.field))
  if (!show || rest.length === 0) return null
  return html`<div class="notice error" role="alert"><h2>${t('problems')}</h2><ul>${rest.map((v) => html`<li key=${v.field + v.message}><code>${v.field}</code> ${v.message}</li>`)}</ul></div>`
}

/** @type {Record<string, string>} */
const fieldsOfCodes = { job_exists: 'jobName', app_exists: 'appName', app_not_found: 'appName' }

/**
 * violationsOf returns the violations in an error. An error about a name that exists or does not exist becomes a violation of its field.
 * @param {ApiError} error
 * @returns {Violation[]}
 */
function violationsOf(error) {
  const field = fieldsOfCodes[error.code]
  return field && !error.fields?.length ? [{ field, value: '', message: error.message }] : (error.fields ?? [])
}

/** @param {string} field such as props.http.url or podTemplate.spec.containers[0] */
const rootOf = (field) => field.split(/[.[]/)[0]

/** @param {string} path @param {string} field */
const isWithin = (path, field) => path.startsWith(`${field}.`) || path.startsWith(`${field}[`)

/**
 * useCheck sends a request to check a document once it has not changed for 400 ms. It returns the last answer, the violations in it,
 * and the document that the answer is about.
 * @param {import('../lib/api.js').Request | null} request
 * @returns {[checked: any, wrong: Violation[], about: Doc]}
 */
function useCheck(request) {
  const [state, setState] = useState(/** @type {[any, Violation[], Doc]} */ ([null, [], {}]))
  const asked = useDelayed(request ? JSON.stringify(request) : '', 400)
  useEffect(() => {
    if (!asked) return
    const abort = new AbortController()
    const about = JSON.parse(asked)
    patiently(() => call(about, { signal: abort.signal }), abort.signal).then(
      (answer) => setState([answer, [], about.body]),
      (e) => {
        if (!abort.signal.aborted) setState([null, e instanceof ApiError ? violationsOf(e) : [], about.body])
      },
    )
    return () => abort.abort()
  }, [asked])
  return state
}

/**
 * useLeaving calls ask before the user leaves the page with changes. If the user leaves the console, the browser asks instead.
 * @param {boolean} dirty
 * @param {(leave: () => void) => void} ask
 */
function useLeaving(dirty, ask) {
  useEffect(() => {
    if (!dirty) return
    const hold = (/** @type {BeforeUnloadEvent} */ e) => e.preventDefault()
    addEventListener('beforeunload', hold)
    guardLeaving(ask)
    return () => {
      removeEventListener('beforeunload', hold)
      guardLeaving(null)
    }
  }, [dirty])
}
