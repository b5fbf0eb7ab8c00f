import { Component, type ReactNode } from 'react';

type Props = { fallback: (again: () => void) => ReactNode; children: ReactNode };

/** An error boundary: shows a message in place of what cannot be rendered, and leaves the rest of the page alone. */
export class Boundary extends Component<Props, { broken: boolean }> {
  state = { broken: false };

  static getDerivedStateFromError(): { broken: boolean } {
    return { broken: true };
  }

  again = () => this.setState({ broken: false });

  render() {
    return this.state.broken ? this.props.fallback(this.again) : this.props.children;
  }
}
