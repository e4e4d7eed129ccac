/** The build injects them into each module with JSX, because calls of `h` are shorter than those of `jsx`. */
export { Fragment, h } from 'preact'
