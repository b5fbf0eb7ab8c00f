import { Component, type ReactNode } from 'react';

type Props = { fallback: (again: () => void) => ReactNode; children: ReactNode };

/** What cannot be drawn says so in its own place, and leaves the rest of the page alone. */
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
