// What components are made of, from one place.
import { h } from '../../vendor/preact.js'
import htm from '../../vendor/htm.js'

export const html = htm.bind(h)
export { h, render, Fragment, createContext } from '../../vendor/preact.js'
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useId, useErrorBoundary } from '../../vendor/hooks.js'
