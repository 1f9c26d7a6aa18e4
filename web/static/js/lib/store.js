// Choices of the user that the browser stores.
import { signal } from './signal.js'

const prefix = 'elasticjob.'

/**
 * remembered returns a signal whose value is stored. Without storage, or if the stored value is not valid, it begins with the preset.
 * @template T
 * @param {string} name
 * @param {T} preset
 * @param {(value: unknown) => value is T} valid
 */
export function remembered(name, preset, valid) {
  let value = preset
  try {
    const stored = JSON.parse(localStorage.getItem(prefix + name) ?? 'null')
    if (valid(stored)) value = stored
  } catch {
    // Private windows may have no storage.
  }
  const s = signal(value)
  s.follow((v) => {
    try {
      localStorage.setItem(prefix + name, JSON.stringify(v))
    } catch {
      // The value then lasts only as long as the page.
    }
  })
  return s
}

/**
 * oneOf returns a check for remembered: the value must be one of some words.
 * @template {string} T
 * @param {readonly T[]} words
 * @returns {(value: unknown) => value is T}
 */
export function oneOf(words) {
  return /** @type {(value: unknown) => value is T} */ ((value) => /** @type {readonly unknown[]} */ (words).includes(value))
}

export const theme = remembered('theme', /** @type {'system' | 'light' | 'dark'} */ ('system'), oneOf(['system', 'light', 'dark']))
export const language = remembered('language', /** @type {'en' | 'zh'} */ (navigator.language.startsWith('zh') ? 'zh' : 'en'), oneOf(['en', 'zh']))
export const zone = remembered('zone', /** @type {'mine' | 'job' | 'utc'} */ ('mine'), oneOf(['mine', 'job', 'utc']))
export const narrowNav = remembered('narrow', false, (v) => typeof v === 'boolean')

/** followTheme sets the theme and the language of the document, now and whenever they change. */
export function followTheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const apply = () => {
    const chosen = theme.get()
    document.documentElement.dataset.theme = chosen === 'system' ? (dark.matches ? 'dark' : 'light') : chosen
  }
  dark.addEventListener('change', apply)
  theme.follow(apply)
  apply()
  const applyLanguage = () => void (document.documentElement.lang = language.get() === 'zh' ? 'zh-CN' : 'en')
  language.follow(applyLanguage)
  applyLanguage()
}
