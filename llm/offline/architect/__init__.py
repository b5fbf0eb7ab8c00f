"""The offline model as an architect: it recognises the generator's questions and answers with agents that run."""
